import { expect, test } from "vitest";
import { awaitedAgents, byAge, type Candidate, choose } from "./dispatch-queue.ts";
import { agentKey } from "./state.ts";
import { begin, pending } from "./testing/states.ts";

const candidate = (key: string, age: number, more: Partial<Candidate> = {}): Candidate => ({
  key,
  state: pending(),
  createdAt: begin + age,
  uid: `0198c000-0000-7000-8000-${key.padStart(12, "0")}`,
  isDisabled: false,
  isDeleted: false,
  ...more,
});
const keyOf = (candidates: readonly Candidate[], agent = "agent-a", now = begin) => {
  const own = agentKey(agent);
  const held = candidates.filter(
    ({ state: { dispatch } }) => dispatch.held && agentKey(dispatch.agentID ?? "") === own,
  );
  const [oldest] = candidates.filter((candidate) => awaitedAgents(candidate).includes(own)).toSorted(byAge);
  const choice = choose({ held, oldest }, now);
  return choice.is === "next" ? choice.candidate.key : choice.is;
};

test("the oldest comes first, whatever the order they are found in", () => {
  expect(keyOf([candidate("b", 2), candidate("a", 3), candidate("c", 1)])).toBe("c");
});

test("of one instant the uid decides where it grows with time, else the name", () => {
  expect(keyOf([candidate("2", 0), candidate("1", 0)])).toBe("1");
  const random = (key: string, uid: string) => candidate(key, 0, { uid });
  expect(
    keyOf([random("b", "00000000-0000-4000-8000-000000000000"), random("a", "ffffffff-0000-4000-8000-000000000000")]),
  ).toBe("a");
});

test("an agent has one workflow at a time, also one that has ended but may still be at work", () => {
  const held = candidate("a", 0, {
    state: pending({ phase: "Failed", dispatch: { held: true, attempt: 1, rejections: 0, agentID: "agent-a" } }),
  });
  expect(keyOf([candidate("b", 1), held])).toBe("busy");
  expect(keyOf([candidate("b", 1, { state: pending({ agentID: "agent-b" }) }), held], "agent-b")).toBe("b");
});

test("nobody overtakes one that was refused a moment ago", () => {
  const refused = candidate("a", 0, {
    state: pending({ dispatch: { held: false, attempt: 1, rejections: 1, notBefore: begin + 5000 } }),
  });
  expect(keyOf([candidate("b", 1), refused])).toBe("later");
  expect(keyOf([candidate("b", 1), refused], "agent-a", begin + 5000)).toBe("a");
});

test.each([
  ["disabled", { isDisabled: true }],
  ["deleted", { isDeleted: true }],
  ["not prepared", { state: pending({ phase: "" }) }],
  ["at an end", { state: pending({ phase: "Succeeded" }) }],
])("one that is %s does not hold up the others", (_what, more) => {
  expect(keyOf([candidate("a", 0, more), candidate("b", 1)])).toBe("b");
});

test("an agent may write its MAC address as it likes", () => {
  const own = candidate("a", 0, { state: pending({ agentID: "52:54:00:AB:cd:01" }) });
  expect(keyOf([own], "52-54-00-ab-cd-01")).toBe("a");
  expect(keyOf([own], "52:54:00:ab:cd:02")).toBe("nothing");
});

test("age is an order, also of uids that grow with time and others, mixed", () => {
  const uids = ["0198c000-0000-7000-8000-000000000001", "f0000000-0000-4000-8000-000000000000"];
  const all = ["a", "b", "c"].flatMap((key) => uids.map((uid) => candidate(key, 0, { uid })));
  for (const a of all)
    for (const b of all) {
      expect(Math.sign(byAge(a, b))).toBe(0 - Math.sign(byAge(b, a)));
      for (const c of all) if (byAge(a, b) < 0 && byAge(b, c) < 0) expect(byAge(a, c)).toBeLessThan(0);
    }
});
