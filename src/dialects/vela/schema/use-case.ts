import { s } from "#lib/schema/index.ts";
import { text } from "./fields.ts";

// Pieces that the kinds of group app.oam.dev share.

export const useCase = { group: "app.oam.dev", version: "v1", scope: "Namespaced", categories: ["oam"] } as const;

export const count = (description: string) => s.optional(s.integer({ minimum: 0, description }));
export const percentage = (description: string) => s.optional(s.intOrString({ description }));

/** As in Kubernetes; `workflow-progress` is what a step waits for. */
export const conditions = s.optional(
  s.list(
    s.object(
      {
        type: s.string({ minLength: 1 }),
        status: s.string(),
        reason: text("A word for programs."),
        message: text("A sentence for people."),
        lastTransitionTime: s.optional(s.time()),
        observedGeneration: s.optional(s.integer()),
      },
      { preserveUnknown: true },
    ),
    { key: "type" },
  ),
);

export const observedGeneration = s.optional(s.integer({ description: "The generation that the status describes." }));
