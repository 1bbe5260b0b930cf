"""The policies: one file each, found by its name. A new file here is a new policy; nothing else lists them."""
