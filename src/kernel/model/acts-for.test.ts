import { expect, test } from "vitest";
import { actsForAnnotation, notedWriters, writersNote, writersOf } from "./acts-for.ts";
import type { KubeObject } from "./object.ts";

const anna = { user: "anna", groups: ["release"] };
const ben = { user: "ben", groups: [] };
const object = (note: string | undefined, status?: object) =>
  ({
    apiVersion: "v1",
    kind: "Thing",
    metadata: note === undefined ? {} : { annotations: { [actsForAnnotation]: note } },
    ...(status === undefined ? {} : { status }),
  }) as KubeObject & { readonly metadata: object };

test("a note of one writer and of several is read as it was written, and none is administrators", () => {
  for (const writers of [[], [anna], [anna, ben]])
    expect(notedWriters({ ...object(writersNote(writers)) } as never)).toEqual(writers);
});

test("the writers of an object are those of itself and of what it refers to, each once", () => {
  expect(writersOf(object(undefined))).toEqual([]);
  expect(writersOf(object(writersNote([anna]), { actsFor: [ben, anna] }))).toEqual([anna, ben]);
});

test.each(["", "no JSON", "7", "[]", '"anna"', '{"groups":["system:masters"]}'])(
  "the damaged note %j names somebody without rights",
  (note) => {
    const [writer, ...others] = writersOf(object(note));
    expect(writer?.user).toBe("system:anonymous");
    expect(others).toEqual([]);
  },
);
