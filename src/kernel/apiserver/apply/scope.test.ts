import { expect, test } from "vitest";
import { inScope, recorded } from "./field-set-of.ts";
import { printed } from "./testing/world.ts";

const set = {
  "f:apiVersion": {},
  "f:kind": {},
  "f:metadata": {
    ".": {},
    "f:labels": { "f:a": {} },
    "f:name": {},
    "f:namespace": {},
    "f:uid": {},
    "f:resourceVersion": {},
    "f:generation": {},
    "f:creationTimestamp": {},
    "f:managedFields": {},
    "f:selfLink": {},
  },
  "f:spec": { "f:a": {} },
  "f:status": { ".": {}, "f:phase": {} },
};

test("what names the object or belongs to the server is never recorded", () => {
  expect(printed(recorded(set))).toEqual([".status", ".metadata.labels.a", ".spec.a", ".status.phase"]);
});

test("a write to the object does not reach a status that is kept apart", () => {
  expect(Object.keys(inScope(set, { subresource: "", hasStatus: true }))).not.toContain("f:status");
  expect(inScope(set, { subresource: "", hasStatus: false })).toBe(set);
});

test("a write to the status reaches nothing else", () => {
  expect(printed(inScope(set, { subresource: "status", hasStatus: true }))).toEqual([".status", ".status.phase"]);
  expect(inScope({ "f:spec": {} }, { subresource: "status", hasStatus: true })).toEqual({});
});
