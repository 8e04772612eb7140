"""The emulator's server and its shortcuts; emulator_launcher.py loads them in the emulator's own environment."""
