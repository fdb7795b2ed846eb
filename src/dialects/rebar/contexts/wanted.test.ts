import { expect, test } from "vitest";
import { MemoryWorld } from "../testing/memory-world.ts";
import { wantedAgents } from "./wanted.ts";

const machine = (Name: string, Context: string) => ({
  Name,
  Uuid: `00000000-0000-4000-8000-0000000000${Name}`,
  Context,
});

test("8 each machine in a context that has an object gets one agent", () => {
  const world = new MemoryWorld({
    contexts: [
      { Name: "build", Engine: "docker-context", Image: "alpine:3" },
      { Name: "outside", Engine: "kubernetes", Image: "runner:1", Meta: { "slipway/agent": "external" } },
    ],
    machines: [machine("01", "build"), machine("02", ""), machine("03", "served-elsewhere"), machine("04", "outside")],
  });
  expect([...wantedAgents(world).values()]).toMatchObject([
    { machineName: "01", context: "build", engine: "docker-context", image: "alpine:3", isExternal: false },
    { machineName: "04", context: "outside", engine: "kubernetes", image: "runner:1", isExternal: true },
  ]);
});

test("8 another image is another agent", () => {
  const keyWith = (Image: string) => {
    const contexts = [{ Name: "build", Engine: "docker-context", Image }];
    return [...wantedAgents(new MemoryWorld({ contexts, machines: [machine("01", "build")] })).keys()];
  };
  expect(keyWith("a")).toEqual(keyWith("a"));
  expect(keyWith("a")).not.toEqual(keyWith("b"));
  expect(keyWith("a")[0]).toMatch(/^rebar-[0-9a-f]{24}$/);
});
