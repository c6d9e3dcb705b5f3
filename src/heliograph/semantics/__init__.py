"""What an expression means: SPARQL 1.1's value comparisons, arithmetic and built-in functions over terms."""
