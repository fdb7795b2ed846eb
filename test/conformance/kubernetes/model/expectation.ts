import type { JsonObject } from "#lib/base/index.ts";
import { container, type Flat, flatten } from "./flat-object.ts";
import { documentOf, type Operation } from "./operations.ts";
import { applied, isBelow, type Known, ownersAfterUpdate, withoutEmptyLabels } from "./oracle.ts";

/** What a request must be answered with, and what must be stored then: undefined for an object that is gone. */
export interface Expectation {
  readonly code: number;
  readonly next: Omit<Known, "generation" | "revision"> | undefined;
}

const finalizers = "f:metadata/f:finalizers";
const inStatus = (path: string) => path === "f:status" || isBelow(path, "f:status");

/** The object with a part of its fields replaced. */
const replaced = (fields: Flat, isReplaced: (path: string) => boolean, by: Iterable<readonly [string, string]>): Flat =>
  new Map([...[...fields].filter(([path]) => !isReplaced(path)), ...by]);

const inSpec = (path: string) => path === "f:spec" || isBelow(path, "f:spec");

/** RFC 7386 of members that are texts or null; objects on the way to them come into being. */
function merged(fields: Flat, root: string, body: JsonObject): Flat {
  const next = new Map(fields);
  const visit = (path: string, value: JsonObject) => {
    next.set(path, container);
    for (const [name, member] of Object.entries(value)) {
      const at = `${path}/f:${name}`;
      if (member === null) next.delete(at);
      else if (typeof member === "string") next.set(at, JSON.stringify(member));
      else visit(at, member as JsonObject);
    }
  };
  visit(root, body);
  return next;
}

function fieldsAfter(
  known: Flat,
  done: Exclude<Operation, { readonly verb: "create" | "apply" | "delete" }>,
): Flat | undefined {
  switch (done.verb) {
    case "replace":
      return replaced(known, inSpec, [...flatten({ spec: done.spec as JsonObject })]);
    case "merge":
      return merged(known, "f:spec", done.spec);
    case "label":
      return withoutEmptyLabels(merged(known, "f:metadata/f:labels", { show: done.show }));
    case "color":
      return known.has("f:spec/f:color") ? merged(known, "f:spec", { color: done.color }) : undefined;
    case "status":
      return merged(known, "f:status", { phase: done.phase });
    case "release":
      return replaced(known, (path) => path === finalizers || isBelow(path, finalizers), []);
  }
}

/** What Kubernetes does with a request about an object that is there, or is not. */
export function expectationOf(known: Known | undefined, done: Operation): Expectation {
  if (done.verb === "create") return known === undefined ? created(done) : { code: 409, next: known };
  if (done.verb === "apply") return afterApply(known, done);
  if (known === undefined) return { code: 404, next: undefined };
  if (done.verb === "delete") {
    if (done.isStale) return { code: 409, next: known };
    return { code: 200, next: known.fields.has(finalizers) ? { ...known, terminating: true } : undefined };
  }
  if (done.verb === "replace" && done.isStale) return { code: 409, next: known };
  const fields = fieldsAfter(known.fields, done);
  if (fields === undefined) return { code: 422, next: known };
  const who = `${done.manager} Update ${done.verb === "status" ? "status" : ""}`;
  // Where nobody is on record, nobody is until somebody applies.
  const { owners: before } = known;
  const owners = before.size === 0 ? before : ownersAfterUpdate(before, who, known.fields, fields);
  const isGone = known.terminating && !fields.has(finalizers);
  return { code: 200, next: isGone ? undefined : { fields, owners, terminating: known.terminating } };
}

function created(done: Operation & { readonly verb: "create" }): Expectation {
  const fields = flatten(documentOf(done) as unknown as JsonObject);
  const owners = ownersAfterUpdate(new Map(), `${done.manager} Update `, new Map(), fields);
  return { code: 200, next: { fields, owners, terminating: false } };
}

function afterApply(known: Known | undefined, done: Operation & { readonly verb: "apply" }): Expectation {
  const document = flatten(documentOf(done) as unknown as JsonObject);
  const { fields = new Map<string, string>(), terminating = false } = known ?? {};
  const owners = known === undefined || known.owners.size > 0 ? (known?.owners ?? new Map()) : firstOwners(fields);
  const outcome = applied(fields, owners, `${done.manager} Apply `, document);
  if (outcome.conflicts && !done.force) return { code: 409, next: known };
  return { code: 200, next: { ...outcome, terminating } };
}

/** What nobody owns when somebody applies for the first time belongs to a manager of its own. */
const firstOwners = (fields: Flat) =>
  new Map([["before-first-apply Update ", new Set([...fields.keys()].filter((path) => !inStatus(path)))]]);
