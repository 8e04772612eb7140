"""Workers that run as functions do, with the limits that Lambda sets."""
