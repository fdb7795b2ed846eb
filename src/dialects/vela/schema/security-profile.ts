import { age, column, kind, type ObjectOf, s, type TypeOf } from "#lib/schema/index.ts";
import { text } from "./fields.ts";
import { conditions, observedGeneration, useCase } from "./use-case.ts";

const SecurityProfileSpec = s.object(
  {
    application: text("Name of the application; default: that of the label app.oam.dev/name."),
    rbac: s.optional(
      s.oneOf(["enabled", "disabled"], { description: "Run the workflow with rights to the rendered kinds only." }),
    ),
    audit: s.optional(
      s.oneOf(["enabled", "disabled"], { description: "Record every operation on the workflow as an Event." }),
    ),
    serviceAccountName: text("The ServiceAccount that the workflow runs under."),
    secretBackend: s.optional(s.oneOf(["kubernetes", "vault"], { description: "Where secrets are kept." })),
  },
  { preserveUnknown: true },
);
export type SecurityProfileSpec = TypeOf<typeof SecurityProfileSpec>;

const SecurityProfileStatus = s.object(
  {
    observedGeneration,
    serviceAccount: text("The ServiceAccount that the workflow runs under."),
    message: text("What is in force, for people."),
    conditions,
  },
  { preserveUnknown: true },
);

export const SecurityProfile = kind({
  ...useCase,
  kind: "SecurityProfile",
  plural: "securityprofiles",
  description: "Rights, audit and secret backend of an application.",
  spec: s.optional(SecurityProfileSpec),
  status: SecurityProfileStatus,
  columns: [
    column("RBAC", ".spec.rbac"),
    column("Audit", ".spec.audit"),
    column("Account", ".status.serviceAccount"),
    age(),
  ],
});
export type SecurityProfile = ObjectOf<typeof SecurityProfile>;
