import { seededRandom } from "#kernel/kit/testing/index.ts";
import { describe, expect, test } from "vitest";
import { type Parameters, readParameters } from "./parameters.ts";
import { workerName } from "./store-worker.ts";

const rules = { instance: "local", allowLocalRepos: false };
const url = "https://example.org/a/b.git";
const read = (given: Parameters) => {
  const found = readParameters({ GIT_FULLURL: url, ...given }, rules);
  return found.ok ? found.value : found.error.map(({ kind, message }) => `${kind} ${message}`);
};

test("a repository is enough", () => {
  expect(read({})).toEqual({
    buildRef: 0,
    projectId: 0,
    instance: "local",
    source: { url, scheme: "https" },
    inputs: {},
    variables: {},
  });
});

test("everything that a worker may be told", () => {
  expect(
    read({
      BUILD_REF: "123",
      WHARF_PROJECT_ID: "7",
      WHARF_INSTANCE: "prod",
      GIT_BRANCH: "topic/a",
      GIT_REF: "refs/tags/v1",
      GIT_COMMIT: "0123456789ABCDEF0123456789abcdef01234567",
      SUB_DIR: "./a//b/",
      ENVIRONMENT: "stage",
      RUN_STAGES: "build,test",
      VARS: "version: 1.10\nflag: true\nnone:\nquoted: '007'\n",
      ADDITIONAL_VARS: '{"CHANNEL": "beta", "REPO_NAME": "own"}',
      REPO_GROUP: "a",
      REPO_NAME: "b",
      GIT_TOKEN: "t",
      token: "trigger",
      SOMETHING_ELSE: "x",
    }),
  ).toEqual({
    buildRef: 123,
    projectId: 7,
    instance: "prod",
    source: { url, scheme: "https" },
    branch: "topic/a",
    ref: "refs/tags/v1",
    commit: "0123456789abcdef0123456789abcdef01234567",
    subDirectory: "a/b",
    environment: "stage",
    stages: "build,test",
    inputs: { version: "1.10", flag: "true", none: "", quoted: "007" },
    variables: {
      REPO_GROUP: "a",
      REPO_NAME: "own",
      GIT_BRANCH: "topic/a",
      REPO_BRANCH: "topic/a",
      BUILD_REF: "123",
      CHANNEL: "beta",
    },
    token: "t",
  });
});

test("empty ones are absent, and ALL is all stages", () => {
  const bare = read({});
  expect(read({ BUILD_REF: "", GIT_BRANCH: "", VARS: "", ENVIRONMENT: "", RUN_STAGES: "ALL", SUB_DIR: "." })).toEqual(
    bare,
  );
  expect(read({ VARS: "{}", ADDITIONAL_VARS: "null" })).toEqual(bare);
});

test("a branch of the repository is its only one when no other is named", () => {
  expect(read({ REPO_BRANCH: "b" })).toMatchObject({ branch: "b", variables: { REPO_BRANCH: "b" } });
  expect(read({ GIT_BRANCH: "a", REPO_BRANCH: "b" })).toMatchObject({
    branch: "a",
    variables: { GIT_BRANCH: "a", REPO_BRANCH: "b" },
  });
});

describe("what is wrong", () => {
  test("is told all at once, by the name of the parameter", () => {
    expect(
      read({
        GIT_FULLURL: "",
        BUILD_REF: "abc",
        WHARF_PROJECT_ID: "-1",
        VARS: "[1]",
        GIT_BRANCH: "-x",
        SUB_DIR: "../a",
        GIT_COMMIT: "abc",
      }),
    ).toEqual([
      "missing-param-string GIT_FULLURL: expected the address of a repository",
      'invalid-param GIT_BRANCH: expected the name of a branch, found "-x"',
      'invalid-param SUB_DIR: expected a path inside of the repository, found "../a"',
      'invalid-param-uint BUILD_REF: expected a whole number from 0, found "abc"',
      'invalid-param GIT_COMMIT: expected a full hash of 40 or 64 hexadecimal digits, found "abc"',
      'invalid-param-uint WHARF_PROJECT_ID: expected a whole number from 0, found "-1"',
      "invalid-param VARS: expected a map as JSON or YAML, found list",
    ]);
  });

  test.each<[string, string]>([
    ["BUILD_REF", "1.5"],
    ["BUILD_REF", "1e3"],
    ["BUILD_REF", "99999999999999999999"],
    ["GIT_FULLURL", "--upload-pack=touch /tmp/pwned"],
    ["GIT_FULLURL", "ext::sh -c x"],
    ["GIT_FULLURL", "/srv/repository"],
    ["GIT_BRANCH", "a..b"],
    ["GIT_BRANCH", "a b"],
    ["GIT_BRANCH", "a\nb"],
    ["GIT_REF", "v1"],
    ["GIT_REF", "refs/../x"],
    ["SUB_DIR", "/etc"],
    ["SUB_DIR", "a/../../b"],
    ["WHARF_INSTANCE", "a b"],
    ["WHARF_INSTANCE", "-"],
    ["VARS", "a: [1]"],
    ["VARS", "text"],
    ["VARS", "{"],
    ["VARS", "a: 1\na: 2"],
    ["VARS", "&a [*a]"],
    ["ADDITIONAL_VARS", '{"A=B": 1}'],
    ["GIT_TOKEN", "a\nhost=evil.example"],
  ])("%s: %j", (name, value) => {
    expect(read({ [name]: value })).toEqual([expect.stringMatching(new RegExp(`^invalid-param(-uint)? ${name}: `))]);
  });

  test("is told without what is secret", () => {
    for (const name of ["VARS", "ADDITIONAL_VARS"])
      for (const text of ["hunter2", "[hunter2]", "{a: {b: hunter2}}", "a: 'hunter2", "{hunter2"]) {
        expect(read({ [name]: text })).toHaveLength(1);
        expect(JSON.stringify(read({ [name]: text }))).not.toContain("hunter2");
      }
    expect(JSON.stringify(read({ GIT_TOKEN: "hunter2\u0000" }))).not.toContain("hunter2");
  });
});

test("names follow from instance and build, and fit into a label", () => {
  const name = (instance: string, build: number, seed = 1) => workerName(instance, build, seededRandom(seed));
  expect(name("local", 123)).toBe("wharf-cmd-worker-local-123");
  expect(name("local", 0)).toMatch(/^wharf-cmd-worker-local-x[a-z2-9]{10}$/);
  expect(name("local", 0, 2)).not.toBe(name("local", 0, 1));
  const all = ["Prod", "prod", "pr.od", "pr_od", "x".repeat(63), "x".repeat(62)].map((instance) =>
    name(instance, 9007199254740991),
  );
  expect(new Set(all).size).toBe(all.length);
  for (const each of all) expect(each).toMatch(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$/);
});
