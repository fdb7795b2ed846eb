import { type Fields, s } from "#lib/schema/index.ts";

// Specs hold the objects of `/api/v3` under their own field names, without what the server computes. All fields but
// the key may be absent: the server completes what kubectl writes.

export const text = (description?: string) => s.optional(s.string(description === undefined ? {} : { description }));
export const flag = (description?: string) => s.optional(s.boolean(description === undefined ? {} : { description }));
export const texts = (description?: string) =>
  s.optional(s.list(s.string(), description === undefined ? {} : { description }));
export const textMap = (description?: string) =>
  s.optional(s.map(s.string(), description === undefined ? {} : { description }));
export const params = () => s.optional(s.anyObject({ description: "Values by name of param." }));

const described = { Description: text("One line."), Meta: textMap("Free metadata.") } as const;
const documented = { ...described, Documentation: text() } as const;
export const key = () => text("The key; never changes.");

/** A spec whose key is among the fields of the collection. */
export const keyed = <const F extends Fields>(more: F) => s.object({ ...described, ...more });
export const named = <const F extends Fields>(more: F) => s.object({ ...documented, Name: text("The key."), ...more });

export const needs = { RequiredParams: texts(), OptionalParams: texts() } as const;

export const TemplateInfo = s.object({
  Name: text(),
  Path: text("Template of the destination; empty in a task: a script."),
  ID: text("Of a Template, or else Contents."),
  Contents: text(),
  Link: text(),
  Meta: textMap(),
});
export const templates = () => s.optional(s.list(TemplateInfo));

export const Claim = s.object({ scope: text(), action: text(), specific: text() });
export const claims = () => s.optional(s.list(Claim));

const condition = s.object({
  type: s.string(),
  status: s.string(),
  reason: text(),
  message: text(),
  lastTransitionTime: text(),
});

/** Written with the spec in one request, so it is no subresource. */
export const status = s.optional(
  s.object({
    validated: flag("Sound by itself."),
    available: flag("Everything it refers to exists and is available."),
    errors: texts("Why it is not available."),
    conditions: s.optional(s.list(condition, { key: "type" })),
    writes: s.optional(
      s.integer({ description: "Counts the server's own writes; a change without it is a direct edit." }),
    ),
    begun: text("When a machine's task list was begun."),
    times: text("Jobs of this pass of the list that have ended: INDEX:START+DURATION, ! if failed, in ms since begun."),
    before: s.optional(s.anyObject({ description: "The spec before a direct edit whose effects are still to come." })),
  }),
);
