"""Enhancement of search results by relations: required tools, related tools, remarks."""
