import { expect, test } from "vitest";
import { decodeProtobuf } from "#kernel/apiserver/wire/envelope.ts";
import recorded from "./recorded.json" with { type: "json" };

// Bodies that kubectl 1.33 sent, each beside what kubectl 1.31 sent for the same command (record.mjs).

/** JSON of older clients writes out what protobuf cannot tell from its absence: empty objects, nulls, and a status without values. */
function withoutEmptiness(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmptiness);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([key, member]) => [key, withoutEmptiness(member)] as const);
  return Object.fromEntries(
    members
      .filter(([key, member]) => key !== "token" || member !== "")
      .filter(([, member]) => !empty.has(member) && !isEmpty(member)),
  );
}

const empty = new Set<unknown>([null, false]);

const isEmpty = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;

test.each(recorded)("$command: both clients say the same", ({ protobuf, json }) => {
  expect(withoutEmptiness(decodeProtobuf(Buffer.from(protobuf, "base64")))).toEqual(withoutEmptiness(json));
});

test("most commands that create something were recorded", () => {
  expect(recorded.length).toBeGreaterThanOrEqual(20);
});
