"""Arguments of suggested tools: from the intent, the caller, past runs and data flow."""
