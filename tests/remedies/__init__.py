"""What an operator does as a reason advises, literally, and the end of what follows."""
