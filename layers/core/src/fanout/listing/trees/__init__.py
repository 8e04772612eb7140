"""Both ends listed and merged: a segment that is no part of a manifest."""
