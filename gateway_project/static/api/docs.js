"use strict";

const description = document.getElementById("description");
SwaggerUIBundle({ url: description.dataset.address, domNode: description, validatorUrl: null });
