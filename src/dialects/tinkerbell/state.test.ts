import { expect, test } from "vitest";
import { agentKey, awaitsDispatch, currentIndex, isSameAgent, segmentOf } from "./state.ts";
import { action, pending } from "./testing/states.ts";

const names = (actions: readonly { readonly name: string }[]) => actions.map(({ name }) => name);

test("an agent is told its own actions up to the first of another agent", () => {
  const actions = [
    action("a", { phase: "Succeeded" }),
    action("b"),
    action("c"),
    action("d", {}, "agent-b"),
    action("e"),
  ];
  expect(names(segmentOf({ actions }))).toEqual(["b", "c"]);
  expect(names(segmentOf({ actions: actions.slice(3) }))).toEqual(["d"]);
  expect(segmentOf({ actions: [action("a", { phase: "Succeeded" })] })).toEqual([]);
  expect(currentIndex({ actions })).toBe(1);
});

test("it waits for an agent before its first action, and between two agents", () => {
  const between = [action("a", { phase: "Succeeded" }), action("b", {}, "agent-b")];
  expect(awaitsDispatch(pending())).toBe(true);
  expect(awaitsDispatch(pending({ phase: "Running", actions: between }))).toBe(true);
  expect(awaitsDispatch(pending({ phase: "Running", actions: [action("a", { phase: "Running" })] }))).toBe(false);
  expect(awaitsDispatch(pending({ dispatch: { held: true, attempt: 1, rejections: 0 } }))).toBe(false);
  expect(awaitsDispatch(pending({ phase: "Failed" }))).toBe(false);
});

test("ids of agents are opaque but for MAC addresses, which are one in any writing", () => {
  expect(isSameAgent("52:54:00:AB:CD:01", "52-54-00-ab-cd-01")).toBe(true);
  expect(isSameAgent("Node-7", "node-7")).toBe(false);
  expect(isSameAgent("/dev/sda", "/dev/sda")).toBe(true);
  expect(isSameAgent("", "")).toBe(true);
  expect(agentKey("52-54-00-ab-cd")).toBe("52-54-00-ab-cd");
});
