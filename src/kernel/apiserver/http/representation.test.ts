import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { readYaml, writeYaml } from "#lib/yaml/index.ts";
import type { Entry } from "../store/store.ts";
import { testContext } from "../testing/index.ts";
import type { Listing } from "../verbs/list.ts";
import type { Form } from "./accept.ts";
import { listMetadata, listReply, type Turns } from "./list-reply.ts";
import { encodeItem, encodeObject, parseIncludeObject, type View } from "./representation.ts";

const context = testContext();
const resource = context.served("configmaps");
const now = context.clock.now();
const viewAs = (form: Form, include: View["include"] = "Metadata"): View => ({ resource, form, include, now });
const put = (name: string, value = "x"): Promise<Entry> =>
  context.put("configmaps", { kind: "ConfigMap", metadata: { name }, data: { value } });

const replyOf = (view: View, listing: Listing) =>
  listReply(view, listing, { form: view.form, contentType: "x/y" }, turn);
/** How often a large object was encoded in a turn of its own. */
let turns = 0;
const turn: Turns = {
  turn: async () => {
    turns += 1;
    await Promise.resolve();
  },
  piece: () => new Promise((resolve) => setImmediate(resolve)),
};

const bodyOf = async (view: View, listing: Listing): Promise<Buffer> => {
  const { body } = replyOf(view, listing);
  if (Buffer.isBuffer(body)) return body;
  const parts: Buffer[] = [];
  for await (const part of body.parts) parts.push(...part);
  return Buffer.concat(parts);
};

describe("one object", () => {
  const asked = async (form: Form): Promise<{ readonly text: string; readonly asked: readonly string[] }> => {
    const entry = await put("one");
    const sources: string[] = [];
    const text = encodeObject(
      viewAs(form),
      () => {
        sources.push("object");
        return entry.object();
      },
      () => {
        sources.push("bytes");
        return entry.bytes;
      },
    ).toString();
    return { text, asked: [...new Set(sources)] };
  };

  test("as JSON is the stored bytes, and nothing is parsed", async () => {
    const { text, asked: sources } = await asked("json");
    expect(JSON.parse(text)).toMatchObject({ kind: "ConfigMap", data: { value: "x" } });
    expect(sources).toEqual(["bytes"]);
  });

  test("as YAML says the same", async () => {
    const read = readYaml((await asked("yaml")).text);
    expect(read.ok && read.value.documents[0]?.value).toMatchObject({ kind: "ConfigMap", data: { value: "x" } });
  });

  test("as partial metadata keeps nothing else", async () => {
    const { text, asked: sources } = await asked("partial");
    expect(Object.keys(JSON.parse(text) as object)).toEqual(["kind", "apiVersion", "metadata"]);
    expect(sources).toEqual(["object"]);
  });

  test("as a table is one row with columns and its revision", async () => {
    const { text } = await asked("table");
    const table = JSON.parse(text) as {
      readonly metadata: { readonly resourceVersion: string };
      readonly rows: readonly unknown[];
      readonly columnDefinitions: readonly { readonly name: string }[];
    };
    expect(table.rows).toHaveLength(1);
    expect(table.columnDefinitions.map(({ name }) => name)).toEqual(["Name", "Data", "Age"]);
    expect(table.metadata.resourceVersion).toMatch(/^\d+$/);
  });
});

test.each<[string | null, string]>([
  [null, "Metadata"],
  ["", "Metadata"],
  ["Metadata", "Metadata"],
  ["Object", "Object"],
  ["None", "None"],
])("includeObject=%j is %s", (text, include) => {
  expect(parseIncludeObject(text)).toBe(include);
});

test.each(["object", "All", "0"])("includeObject=%j is refused with what may be said", (text) => {
  expect(() => parseIncludeObject(text)).toThrow(
    expect.objectContaining({
      code: 400,
      message: `includeObject must be None, Metadata or Object, found ${JSON.stringify(text)}`,
    }),
  );
});

describe("a list", () => {
  const forms: readonly Form[] = ["json", "partial", "table", "yaml"];

  test.each(forms)("of nothing as %s is whole, with its revision", async (form) => {
    const text = (await bodyOf(viewAs(form), { entries: [], revision: 7 })).toString();
    const value = form === "yaml" ? readYaml(text) : JSON.parse(text);
    const list =
      form === "yaml"
        ? (value as { readonly value: { readonly documents: readonly { readonly value: object }[] } }).value
            .documents[0]?.value
        : value;
    expect(list).toMatchObject({ metadata: { resourceVersion: "7" }, [form === "table" ? "rows" : "items"]: [] });
  });

  test("is what its items are, between head and tail, whatever their number and size", async () => {
    let made = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(40_000), { maxLength: 30 }), async (sizes) => {
        const run = (made += 1);
        const entries: Entry[] = [];
        for (const [at, size] of sizes.entries()) entries.push(await put(`l${run}-${at}`, "v".repeat(size)));
        const list = JSON.parse(
          (await bodyOf(viewAs("json"), { entries, revision: 3, continue: "t", remaining: 4 })).toString(),
        ) as object;
        expect(list).toEqual({
          kind: "ConfigMapList",
          apiVersion: "v1",
          metadata: { resourceVersion: "3", continue: "t", remainingItemCount: 4 },
          items: entries.map((entry) => entry.object()),
        });
      }),
      { numRuns: 10 },
    );
  });

  test("of more than a part holds comes in several, and lets others have their turn", async () => {
    const entry = await put("turns", "v".repeat(2000));
    const entries = Array.from({ length: 1500 }, () => entry);
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      if (isDone) return;
      turns += 1;
      setImmediate(count);
    };
    setImmediate(count);
    const { body } = replyOf(viewAs("json"), { entries, revision: 1 });
    if (Buffer.isBuffer(body)) throw new Error("one part");
    let [parts, length] = [0, 0];
    for await (const part of body.parts) {
      parts += 1;
      const { length: bytes } = Buffer.concat(part);
      length += bytes;
      expect(bytes).toBeLessThan(140 * 1024);
    }
    isDone = true;
    expect(parts).toBeGreaterThan(20);
    expect(turns).toBeGreaterThanOrEqual(parts - 1);
    expect(length).toBe(body.length);
  });

  test("as YAML is what its JSON would be as YAML, in one part or several", async () => {
    const entries = [await put("y1", "a: b\n- c"), await put("y2"), await put("y3", "v".repeat(150 * 1024))];
    for (const some of [[], entries.slice(0, 2), entries]) {
      const listing = { entries: some, revision: 3, continue: "yes" };
      const list = JSON.parse((await bodyOf(viewAs("json"), listing)).toString()) as JsonObject;
      expect((await bodyOf(viewAs("yaml"), listing)).toString()).toBe(writeYaml(list));
    }
  });

  test("gives each large object that is made anew a turn of its own", async () => {
    const entries = [await put("t1"), await put("t2", "v".repeat(100 * 1024)), await put("t3", "v".repeat(100 * 1024))];
    for (const [form, expected] of [
      ["json", 0],
      ["table", 2],
      ["yaml", 2],
    ] as const) {
      turns = 0;
      await bodyOf(viewAs(form), { entries, revision: 3 });
      expect([form, turns]).toEqual([form, expected]);
    }
  });

  test.each<[string, Form, number, number | undefined]>([
    ["as many items as one part may have are one buffer", "json", 100, NaN],
    ["one more is sent in parts, with the length of stored texts", "json", 101, 1],
    ["rows of a table have no length before they are made", "table", 101, undefined],
  ])("%s", async (_, form, count, known) => {
    const entry = await put(`edge-${form}-${count}`);
    const listing = { entries: Array.from({ length: count }, () => entry), revision: 1 };
    const { body } = replyOf(viewAs(form), listing);
    const whole = await bodyOf(viewAs(form), listing);
    const { items, rows } = JSON.parse(whole.toString()) as { readonly items?: object[]; readonly rows?: object[] };
    expect((items ?? rows)?.length).toBe(count);
    expect(Buffer.isBuffer(body)).toBe(Number.isNaN(known));
    expect(body.length).toBe(known === undefined ? undefined : whole.length);
  });

  test("as a table has rows with as much of the object as was asked for", async () => {
    const entry = await put("row");
    const rowOf = (include: View["include"]) =>
      JSON.parse(encodeItem(viewAs("table", include), entry).toString()) as {
        readonly object?: { readonly kind: string };
      };
    expect(rowOf("None").object).toBeUndefined();
    expect(rowOf("Metadata").object?.kind).toBe("PartialObjectMetadata");
    expect(rowOf("Object").object?.kind).toBe("ConfigMap");
  });

  test("says of itself only what is known", () => {
    expect(listMetadata({ entries: [], revision: 12 })).toEqual({ resourceVersion: "12" });
    expect(listMetadata({ entries: [], revision: 12, continue: "x", remaining: 0 })).toEqual({
      resourceVersion: "12",
      continue: "x",
      remainingItemCount: 0,
    });
  });
});
