"""SummariseTransfer: balances the books and writes the summary."""
