"""A reader of Coffret's stores, written from the pages of Spec alone."""
