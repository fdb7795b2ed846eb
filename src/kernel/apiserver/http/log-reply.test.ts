import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { containerOf } from "./log-reply.ts";

const podOf = (containers: readonly string[], initContainers: readonly string[] = []): JsonObject => ({
  metadata: { name: "p" },
  spec: { containers: containers.map((name) => ({ name })), initContainers: initContainers.map((name) => ({ name })) },
});

describe("the container whose log is read", () => {
  test.each<[readonly string[], readonly string[], string | undefined, string]>([
    [["main"], [], undefined, "main"],
    [["main"], [], "", "main"],
    [["main"], ["setup"], undefined, "main"],
    [["main"], ["setup"], "setup", "setup"],
    [["a", "b"], [], "b", "b"],
  ])("of %j (first %j), asked for %j, is %s", (containers, first, asked, name) => {
    expect(containerOf(podOf(containers, first), asked)).toBe(name);
  });

  test.each<[readonly string[], readonly string[], string | undefined, string]>([
    [["a", "b"], [], undefined, "a container name must be specified for pod p, choose one of: [a b]"],
    [["a", "b"], ["setup"], "", "a container name must be specified for pod p, choose one of: [setup a b]"],
    [["a", "b"], ["setup"], "c", "container c is not valid for pod p, which has: setup, a, b"],
    [[], [], undefined, "a container name must be specified for pod p, choose one of: []"],
  ])("of %j (first %j), asked for %j, is refused: %s", (containers, first, asked, message) => {
    expect(() => containerOf(podOf(containers, first), asked)).toThrow(expect.objectContaining({ code: 400, message }));
  });

  test("of something that is hardly a Pod is refused, not a crash", () => {
    for (const pod of [
      {},
      { spec: null },
      { spec: { containers: "x" } },
      { spec: { containers: [null, {}, { name: 7 }] } },
    ] as JsonObject[])
      expect(() => containerOf(pod)).toThrow(expect.objectContaining({ code: 400 }));
  });
});
