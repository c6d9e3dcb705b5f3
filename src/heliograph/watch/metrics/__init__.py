"""The `hg:` functions: one file each, kept up to date by what edges come and go."""
