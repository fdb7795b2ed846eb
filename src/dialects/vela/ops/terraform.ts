import { done, failure, inBothForms } from "./form.ts";

/** Terraform is out of scope: there are no such components. */
export const terraformProviders = inBothForms("terraform", {
  "load-terraform-components": () => done({ outputs: { components: [] } }),
  "get-connection-status": () => failure("terraform is not supported"),
});
