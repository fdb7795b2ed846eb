import { expect, test } from "vitest";
import { allows, machineClaims } from "./claims.ts";

const can = (claim: string, asked: string): boolean => {
  const [scope = "", action = "", specific = ""] = claim.split(" ");
  const [askedScope = "", askedAction = "", askedSpecific = ""] = asked.split(" ");
  return allows([{ scope, action, specific }], askedScope, askedAction, askedSpecific);
};

test.each([
  ["* * *", "machines delete x", true],
  ["machines,jobs get,list x,y", "jobs list y", true],
  ["machines,jobs get,list x,y", "jobs list z", false],
  ["machines get *", "machines update x", false],
  ["machines update *", "machines update:/Params/a x", true],
  ["machines update:/Params *", "machines update:/Params/a x", true],
  ["machines update:/Params *", "machines update:/Params x", true],
  ["machines update:/Params *", "machines update:/ParamsOther x", false],
  ["machines update:/Params *", "machines update x", false],
  ["machines get,update:/Params/a *", "machines update:/Params x", false],
  ["machines action *", "machines action:on x", true],
  ["machines action:on *", "machines action:on x", true],
  ["machines action:on *", "machines action:off x", false],
  ["machines update *", "machines updateSecure x", false],
  ["machines updateTaskList *", "machines updateTaskList x", true],
])("%s %s", (claim, asked, answer) => {
  expect(can(claim, asked)).toBe(answer);
});

test("no claim allows nothing; a machine's token is for that machine", () => {
  expect(allows([], "machines", "get", "x")).toBe(false);
  expect(allows(machineClaims("x"), "machines", "update:/Runnable", "x")).toBe(true);
  expect(allows(machineClaims("x"), "machines", "get", "y")).toBe(false);
  expect(allows(machineClaims("x"), "machines", "updateTaskList", "x")).toBe(false);
  expect(allows(machineClaims("x"), "profiles", "get", "global")).toBe(false);
});
