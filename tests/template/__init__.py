"""The template, without deploying it."""
