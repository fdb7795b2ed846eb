import { expect, test } from "vitest";
import { FakeClock, type JsonObject } from "#lib/base/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { ConfigMap, Event, type KubeObject } from "#kernel/model/index.ts";
import { keptOutput } from "#kernel/command/testing/index.ts";
import { eventsOf, formatEvents } from "./events.ts";
import { formatObjects, parseFormat } from "./formats.ts";
import { startLive } from "./live.ts";
import { paintFor } from "#kernel/command/index.node.ts";
import { printProblems } from "#kernel/command/index.ts";

const map = (name: string, data: JsonObject = {}): KubeObject =>
  ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data }) as KubeObject;

test.each([
  ["table", { kind: "table", wide: false }],
  ["wide", { kind: "table", wide: true }],
  ["json", { kind: "json" }],
  ["yaml", { kind: "yaml" }],
  ["name", { kind: "name" }],
  ["jsonpath={.a}", { kind: "jsonpath", template: "{.a}" }],
  ["jsonpath={.a}\n{.b}", { kind: "jsonpath", template: "{.a}\n{.b}" }],
])("-o %j is a format", (text, format) => {
  expect(parseFormat(text)).toEqual(format);
});

test.each(["", "JSON", "jsonpath", "jsonpath=", "go-template={{}}"])(
  "-o %j is none, and all there are are named",
  (text) => {
    expect(() => parseFormat(text)).toThrow(
      `no output format "${text}": expected table, wide, json, yaml, name or jsonpath=TEMPLATE`,
    );
  },
);

const format = async (objects: readonly KubeObject[], single: boolean, text: string) => {
  const parsed = parseFormat(text);
  if (parsed.kind === "table") throw new Error("tables are the server's");
  return await formatObjects(objects, single, parsed);
};

test("one object stands for itself, several are a List, and so is one that was not asked for by name", async () => {
  expect(JSON.parse(await format([map("a")], true, "json"))).toEqual(map("a"));
  const list = (...items: readonly KubeObject[]) => ({ apiVersion: "v1", kind: "List", metadata: {}, items });
  expect(JSON.parse(await format([map("a")], false, "json"))).toEqual(list(map("a")));
  expect(JSON.parse(await format([], false, "json"))).toEqual(list());
  expect(JSON.parse(await format([], true, "json"))).toEqual(list());
});

test("yaml reads back as what it was written from, also where words look like numbers", async () => {
  const object = map("a", { yes: "on", number: "007", text: "a\nb\n", empty: "", "key: odd": "#" });
  const read = readYaml(await format([object], true, "yaml"));
  expect(read.ok && read.value.documents.map(({ value }) => value)).toEqual([object]);
});

test("names are those kubectl takes back", async () => {
  const workflow = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name: "w" } };
  expect(await format([map("a"), workflow], false, "name")).toBe("configmap/a\nworkflow.slipway.dev/w\n");
  expect(await format([], false, "name")).toBe("");
});

test("templates see the object or the list, and what is not there is empty", async () => {
  expect(await format([map("a", { n: "1" })], true, "jsonpath={.data.n}")).toBe("1\n");
  expect(await format([map("a"), map("b")], false, "jsonpath={.items[*].metadata.name}")).toBe("a b\n");
  expect(await format([map("a")], true, "jsonpath={.data.none}")).toBe("\n");
  await expect(format([map("a")], true, "jsonpath={.a")).rejects.toThrow("the jsonpath template is not valid");
});

const event = (name: string, more: JsonObject): KubeObject => ({
  apiVersion: "events.k8s.io/v1",
  kind: "Event",
  metadata: { name, namespace: "default", creationTimestamp: "2026-01-01T00:00:00Z" },
  ...more,
});
const now = Date.UTC(2026, 0, 1, 0, 2);

test("events are a table of ages, and repeated ones say how often", () => {
  const told = formatEvents(
    [
      event("a", { type: "Normal", reason: "Started", note: "it began", eventTime: "2026-01-01T00:01:00.000000Z" }),
      event("b", {
        type: "Warning",
        reason: "Slow",
        note: "it waits",
        eventTime: "2026-01-01T00:00:00Z",
        series: { count: 3, lastObservedTime: "2026-01-01T00:01:50Z" },
      }),
      event("c", { eventTime: null, series: { count: 1 } }),
    ],
    now,
  );
  expect(told).toBe(
    [
      "Events:",
      "AGE   TYPE      REASON    MESSAGE",
      "60s   Normal    Started   it began",
      "10s   Warning   Slow      it waits (x3)",
      "2m",
      "",
    ].join("\n"),
  );
  expect(formatEvents([], now)).toBe("Events:     none\n");
});

test("the events about an object are its own and not its predecessor's, oldest first", async () => {
  const client = memoryClient({ clock: new FakeClock() });
  const object = await client.create(ConfigMap, { ...map("m"), metadata: { name: "m", namespace: "default" } });
  const regarding = (uid: string) => ({ regarding: { kind: "ConfigMap", namespace: "default", name: "m", uid } });
  const { uid } = object.metadata;
  await client.create(Event, event("late", { ...regarding(uid), eventTime: "2026-01-01T00:00:09Z" }));
  await client.create(Event, event("early", { ...regarding(uid), eventTime: "2026-01-01T00:00:01Z" }));
  await client.create(Event, event("past", { ...regarding("another"), eventTime: "2026-01-01T00:00:05Z" }));
  expect((await eventsOf(client, object)).map(({ metadata }) => metadata.name)).toEqual(["early", "late"]);
});

test("problems are a line each; only errors count", () => {
  const output = keptOutput();
  const problem = { code: "x", message: "is odd", path: "spec" } as const;
  expect(printProblems([], output)).toBe(false);
  expect(printProblems([{ ...problem, severity: "warning" }], output)).toBe(false);
  expect(
    printProblems(
      [
        { ...problem, severity: "error" },
        { ...problem, severity: "warning" },
      ],
      output,
    ),
  ).toBe(true);
  expect(output.text()).toBe("warning: spec: is odd\nerror: spec: is odd\nwarning: spec: is odd\n");
});

test("without colour a text stays as it is, with colour it can be had back", () => {
  for (const [name, paint] of Object.entries(paintFor(false))) expect(paint(name)).toBe(name);
  for (const [name, paint] of Object.entries(paintFor(true))) {
    expect(paint(name)).not.toBe(name);
    expect(paint(name).replaceAll(/\u001b\[\d+m/g, "")).toBe(name);
  }
});

/** What a terminal shows after these writes: `ESC[nA` goes up, `ESC[0J` clears what is below. */
function screenAfter(text: string): readonly string[] {
  let lines: string[] = [];
  for (const part of text.split(/(\u001b\[\d+A\u001b\[0J|\n)/)) {
    const up = /^\u001b\[(\d+)A/.exec(part)?.[1];
    if (up !== undefined) lines = lines.slice(0, lines.length - Number(up));
    else if (part !== "\n" && part !== "") lines.push(part);
  }
  return lines;
}

test("a live block is drawn over itself ten times a second, and lines above it stay", async () => {
  const clock = new FakeClock();
  const output = keptOutput();
  let block = ["a", "b"];
  const live = startLive(
    output,
    clock,
    () => 24,
    (frame) => [...block, `frame ${frame}`],
  );
  expect(output.text()).toBe("");
  await clock.advance(250);
  expect(screenAfter(output.text())).toEqual(["a", "b", "frame 2"]);
  live.print(["told"]);
  block = ["a"];
  await clock.advance(100);
  expect(screenAfter(output.text())).toEqual(["told", "a", "frame 3"]);
  live.close();
  expect(screenAfter(output.text())).toEqual(["told", "a", "frame 3"]);
  const before = output.text();
  await clock.advance(1_000);
  expect(output.text()).toBe(before);
});

test("a block that is higher than the screen keeps its head and its end, and is whole at last", async () => {
  const clock = new FakeClock();
  const output = keptOutput();
  const lines = Array.from({ length: 40 }, (_, n) => `line ${n}`);
  const live = startLive(
    output,
    clock,
    () => 6,
    () => lines,
  );
  await clock.advance(300);
  expect(screenAfter(output.text())).toEqual(["line 0", "line 36", "line 37", "line 38", "line 39"]);
  live.close();
  expect(screenAfter(output.text())).toEqual(lines);
});
