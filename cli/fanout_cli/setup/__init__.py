"""The first configuration of a stack: five answers become a section of samconfig.toml."""
