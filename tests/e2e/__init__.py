"""The template, deployed by sam to the emulator, with real worker processes."""
