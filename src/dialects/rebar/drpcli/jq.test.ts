import { expect, test } from "vitest";
import { runJq } from "./jq.ts";

const machine = JSON.stringify({ Name: "m1", Params: { "a/b": [1, 2] }, Meta: { BaseContext: "x" }, on: false });
const jq = (words: readonly string[], stdin = machine) =>
  runJq(words, {
    readText: (file) => Promise.resolve(file === "list.json" ? '["b","a"]' : "{}"),
    readStdin: () => Promise.resolve(stdin),
  });

// Filters of the public content.
test.each([
  [["-r", ".Name"], "m1\n"],
  [["-r", ".Meta.BaseContext"], "x\n"],
  [['.Params."a/b"', "-c"], "[1,2]\n"],
  [["-r", '"\\(.Name) : \\(.Params | keys[0])"'], "m1 : a/b\n"],
  [["-rc", '.Params["a/b"][]'], "1\n2\n"],
  [['.Params."a/b" | length'], "2\n"],
  [["-c", ". as $m | [.Params[] | .[] | select(. > 1)]"], "[2]\n"],
  [["-c", '.Params."a/b" | (. + [1] | unique)'], "[1,2]\n"],
  [["--arg", "who", "anna", "-r", '"\\($who) \\(.Name)"'], "anna m1\n"],
  [["-c", "sort", "list.json"], '["a","b"]\n'],
  [["-n", "-c", "{a: 1}"], '{"a":1}\n'],
  [["-r", '.Name | test("^m")'], "true\n"],
  [["-j", ".Name"], "m1"],
  [["-s", "-c", "map(.Name)"], '["m1"]\n'],
])("13 jq %j", async (words, out) => {
  expect(await jq(words)).toEqual({ out, err: "", code: 0 });
});

test("13 jq ends with the codes of jq", async () => {
  expect((await jq(["-e", ".on"])).code).toBe(1);
  expect((await jq(["-e", ".Name"])).code).toBe(0);
  expect(await jq(["."], "")).toEqual({ out: "", err: "", code: 0 });
  const wrong = await jq([".a.("]);
  expect(wrong.code).toBe(3);
  expect(wrong.err).toContain("syntax error");
  const failed = await jq([".Name.x"]);
  expect(failed).toMatchObject({ code: 5, out: "" });
  expect(failed.err).toContain('Cannot index string with string "x"');
});
