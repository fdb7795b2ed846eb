import { expect, test } from "vitest";
import { action, pending } from "../testing/states.ts";
import { startCommand } from "./commands.ts";

/** Actions of the command for these actions. */
const actionsOf = (...actions: readonly ReturnType<typeof action>[]) => {
  const { cmd } = startCommand("id", pending({ actions }));
  return cmd?.case === "startWorkflow" ? (cmd.value.workflow?.actions ?? []) : [];
};

test("an entrypoint is told, and absent where there is none", () => {
  const [one, two] = actionsOf(action("one", { cmd: "/bin/sh" }), action("two"));
  expect(one).toMatchObject({ name: "one", cmd: "/bin/sh" });
  expect(two).not.toHaveProperty("cmd");
});

test("namespaces are told only when one is set, because released agents know another type under their number", () => {
  const [one, two] = actionsOf(action("one", { network: "host" }), action("two"));
  expect(one).toMatchObject({ ns: { net: "host" } });
  expect(two).not.toHaveProperty("ns");
});

test("an agent is told what is left, up to the first action of another one", () => {
  const actions = [action("one", { phase: "Succeeded" }), action("two"), action("three", {}, "agent-b")];
  expect(actionsOf(...actions).map(({ name }) => name)).toEqual(["two"]);
});

test("names of variables that are kept out of logs go with the variables, to who heeds them", () => {
  const state = pending({ actions: [action("one", { env: { TOKEN: "hunter22" } })] });
  const envOf = (masks: readonly string[]) => {
    const { cmd } = startCommand("id", state, masks);
    return cmd?.case === "startWorkflow" ? cmd.value.workflow?.actions?.[0]?.env : undefined;
  };
  expect(envOf(["TOKEN"])).toEqual({ TOKEN: "hunter22", SLIPWAY_MASK_ENV: "TOKEN" });
  expect(envOf([])).toEqual({ TOKEN: "hunter22" });
});
