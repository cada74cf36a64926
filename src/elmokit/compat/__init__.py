"""Names of systems that are gone, so that code written for them changes one import."""
