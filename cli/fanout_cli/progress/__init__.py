"""How far a run is: found in its ledger, reckoned, and shown while it goes on."""
