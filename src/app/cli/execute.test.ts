import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SlipwayError, systemClock } from "#lib/base/index.ts";
import { command, type CommandSpec, Exit, exitCodeOf, type Invocation, UsageError } from "#kernel/command/index.ts";
import { commands } from "./commands/index.ts";
import { execute, failureText } from "./execute.ts";
import { host } from "./host.ts";
import { environmentIn, keptOutput, rushedClock } from "#kernel/command/testing/index.ts";
import { type CommandLine, commandLine } from "#test/support/command-line.ts";

/** Carries out words with commands that only write down what they were called with. */
async function tell(
  words: readonly string[],
  behave: (invocation: Invocation<object>) => Promise<number> | number = () => 0,
) {
  const calls: { readonly args: unknown; readonly rest: unknown; readonly options: unknown }[] = [];
  const action = async (invocation: Invocation<object>) => {
    const { args, rest, options } = invocation;
    calls.push({ args, rest, options });
    return await behave(invocation);
  };
  const common = { summary: "Does it", group: "Other", examples: ["slipway x"], action } as const;
  const specs: readonly CommandSpec[] = [
    command({
      ...common,
      name: "one",
      args: ["<name>", "[more...]"],
      options: [
        { flags: "-l, --label <text>", summary: "a label", repeatable: true },
        { flags: "--count <number>", summary: "how many", integer: true, initial: 3 },
        { flags: "-o, --output <format>", summary: "format", choices: ["json", "yaml"] },
      ],
    }),
    command({ ...common, name: "none", args: [], options: [{ flags: "--kubeconfig <file>", summary: "its own" }] }),
    command({ ...common, name: "secret", args: [], options: [], hidden: true }),
  ];
  const [out, err] = [keptOutput(), keptOutput()];
  const code = await execute(words, specs, "1.2.3", {
    environment: () => environmentIn("/nowhere", {}, out, err),
    clock: systemClock,
    signal: new AbortController().signal,
    process: { takeOver: () => undefined, outliveOutputs: () => undefined, exit: () => undefined },
    connect: () => Promise.reject(new SlipwayError("no-control-plane", "nothing runs", { hint: "start it" })),
    host,
  });
  return { code, calls, out: out.text(), err: err.text() };
}

const globals = { verbose: 0, color: "auto" };

describe("words and options", () => {
  test.each<[string, object]>([
    ["one a", { args: ["a", undefined], rest: [], options: { ...globals, count: 3 } }],
    ["one a b c", { args: ["a", undefined], rest: ["b", "c"], options: { ...globals, count: 3 } }],
    [
      "one a --count 0 -l x --label y",
      { args: ["a", undefined], rest: [], options: { ...globals, count: 0, label: ["x", "y"] } },
    ],
    [
      "one a -o=json -l=x=y",
      { args: ["a", undefined], rest: [], options: { ...globals, count: 3, output: "json", label: ["x=y"] } },
    ],
    ["one a -- -o=json", { args: ["a", undefined], rest: ["-o=json"], options: { ...globals, count: 3 } }],
    ["-n demo one a", { args: ["a", undefined], rest: [], options: { ...globals, count: 3, namespace: "demo" } }],
    ["one a -n demo", { args: ["a", undefined], rest: [], options: { ...globals, count: 3, namespace: "demo" } }],
    [
      "-n first one a -n last",
      { args: ["a", undefined], rest: [], options: { ...globals, count: 3, namespace: "last" } },
    ],
    ["one -o json a", { args: ["a", undefined], rest: [], options: { ...globals, count: 3, output: "json" } }],
    ["-vv none", { args: [], rest: [], options: { ...globals, verbose: 2 } }],
    ["none -v -v", { args: [], rest: [], options: { ...globals, verbose: 2 } }],
    ["--color never none", { args: [], rest: [], options: { verbose: 0, color: "never" } }],
    ["none --color always", { args: [], rest: [], options: { verbose: 0, color: "always" } }],
    ["--kubeconfig theirs none --kubeconfig mine", { args: [], rest: [], options: { ...globals, kubeconfig: "mine" } }],
    ["one -- --count", { args: ["--count", undefined], rest: [], options: { ...globals, count: 3 } }],
  ])("slipway %s", async (line, expected) => {
    const { code, calls } = await tell(line.split(" "));
    expect(code).toBe(0);
    expect(calls).toEqual([expected]);
  });

  test.each([
    ["", "Usage: slipway"],
    ["on", "Did you mean one?"],
    ["zzzzz", "^error: unknown command 'zzzzz'\nSee 'slipway --help'.\n$"],
    ["help zzzzz", "^error: unknown command 'zzzzz'\nSee 'slipway --help'.\n$"],
    ["help on", "Did you mean one?"],
    ["one", "missing required argument 'name'\nSee 'slipway one --help'.\n$"],
    ["none a", "too many arguments"],
    ["one a --count -1", "argument missing|expected a whole number|unknown option"],
    ["one a --count 1.5", "expected a whole number"],
    ["one a --count 1e3", "expected a whole number"],
    ["one a --count 1234567890", "expected a whole number"],
    ["one a -o xml", "Allowed choices are json, yaml"],
    ["one a --cuont 2", "Did you mean --count?"],
    ["--color sometimes none", "Allowed choices are auto, always, never"],
  ])("slipway %s is refused on stderr with 2, and nothing is done", async (line, message) => {
    const { code, calls, out, err } = await tell(line === "" ? [] : line.split(" "));
    expect(code).toBe(2);
    expect(calls).toEqual([]);
    expect(out).toBe("");
    expect(err).toMatch(new RegExp(message));
  });

  test.each([
    [["--version"], /^1\.2\.3\n$/],
    [["-V"], /^1\.2\.3\n$/],
    [["--help"], /Usage: slipway \[options\] \[command\]/],
    [["one", "--help"], /^Examples:\n {2}slipway x\n/],
    [["help", "one"], /^Examples:\n/],
  ])("%j is answered on stdout with 0", async (words, text) => {
    const { code, out, err } = await tell(words);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(text);
  });

  test("hidden commands and inherited options are not in the help", async () => {
    expect((await tell(["--help"])).out).not.toContain("secret");
    expect((await tell(["one", "--help"])).out).toMatch(/Options of every command:\n(?:.*\n)* {2}-n, --namespace/);
  });
});

describe("ends", () => {
  test.each<[string, unknown, number, string]>([
    ["a number", 3, 3, ""],
    ["a refusal of usage", new UsageError("no", "do this"), 2, "slipway: no\ndo this\n"],
    ["an error without hint", new UsageError("no"), 2, "slipway: no\n"],
    ["a failed world", new SlipwayError("x", "it broke", { hint: "mend it" }), 1, "slipway: it broke\nmend it\n"],
    ["a corrupt store", new SlipwayError("store-corrupt", "it lies"), 4, "slipway: it lies\n"],
    ["a store of another format", new SlipwayError("store-format", "it is new"), 4, "slipway: it is new\n"],
    ["a bug", new TypeError("x is not a function"), 1, "slipway: x is not a function\n"],
    ["a thrown text", "thrown", 1, "slipway: thrown\n"],
    ["an exit", new Exit(130), 130, ""],
  ])("%s", async (_what, end, code, text) => {
    const found = await tell(["none"], () => {
      if (typeof end === "number") return end;
      throw end;
    });
    expect(found).toMatchObject({ code, err: text, out: "" });
  });

  test("causes are told with -v, the stack with -vv, wherever the option stands", async () => {
    const fail = () => Promise.reject(new Error("outer", { cause: new Error("middle", { cause: "inner" }) }));
    const causes = "slipway: outer\n  because: middle\n  because: inner\n";
    expect((await tell(["none"], fail)).err).toBe("slipway: outer\n");
    expect((await tell(["-v", "none"], fail)).err).toBe(causes);
    expect((await tell(["none", "-v"], fail)).err).toBe(causes);
    expect((await tell(["none", "-vv"], fail)).err).toMatch(/^slipway: outer\n.*\n.*inner\nError: outer\n +at /);
  });

  test("causes in a circle come to an end", () => {
    const first: Error & { cause?: unknown } = new Error("first");
    first.cause = new Error("second", { cause: first });
    expect(failureText(first, 1).split("\n")).toHaveLength(12);
  });

  test("every thrown value has a code, and only the store's own errors have 4", () => {
    for (const code of ["store-locked", "store-failed", "store-closed", "listen-failed"])
      expect(exitCodeOf(new SlipwayError(code, ""))).toBe(1);
    expect([undefined, null, 7, {}].map(exitCodeOf)).toEqual([1, 1, 1, 1]);
  });

  test("a command that needs a control plane says how to start one", async () => {
    const found = await tell(["none"], async ({ connect }) => {
      await connect();
      return 0;
    });
    expect(found).toMatchObject({ code: 1, err: "slipway: nothing runs\nstart it\n" });
  });
});

describe("the commands themselves", () => {
  let cli: CommandLine;
  beforeAll(async () => {
    cli = await commandLine();
  });
  afterAll(() => cli.close());

  const shown = commands.filter(({ hidden }) => hidden !== true);

  test.each(shown.map(({ name }) => name))("the help of %s begins with examples and fits 80 columns", async (name) => {
    const { code, out } = await cli.run(...name.split(" "), "--help");
    expect(code).toBe(0);
    expect(out).toMatch(/^Examples:\n {2}/);
    expect(out).toMatch(new RegExp(`^Usage: slipway ${name}[ |]`, "m"));
    // Examples are never broken: they are there to be copied.
    const prose = out.slice(out.indexOf("Usage:")).split("\n");
    expect(prose.filter((line) => line.length > 80)).toEqual([]);
  });

  test("the help of the program begins with an example of each group, and groups all of them", async () => {
    const { out } = await cli.run("--help");
    const examples = out.slice(0, out.indexOf("Usage:")).trimEnd().split("\n");
    expect(examples).toEqual([
      "Examples:",
      ...["run", "lint", "up", "completion"].map((verb) => expect.stringContaining(`slipway ${verb}`)),
    ]);
    const [own, nested] = [
      shown.filter(({ name }) => !name.includes(" ")),
      shown.filter(({ name }) => name.includes(" ")),
    ];
    for (const { name } of own) expect(out).toMatch(new RegExp(`^  ${name} `, "m"));
    for (const words of nested.map((spec) => spec.name.split(" ")))
      expect((await cli.run(...words.slice(0, -1), "--help")).out).toMatch(new RegExp(`^  ${words.at(-1)} `, "m"));
    for (const group of ["Runs:", "Documents:", "Control plane:", "Other:"]) expect(out).toContain(`\n${group}\n`);
    expect(out.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  test("names are words, options are long, summaries begin with a capital and have no full stop", () => {
    for (const { name, summary, options } of commands) {
      expect(name).toMatch(/^[a-z-]{2,12}(?: [a-z-]{2,12}){0,2}$/);
      expect(summary, name).toMatch(/^[A-Z].*[^.]$/);
      for (const option of options) {
        expect(option.flags, name).toMatch(/^(?:-\w, )?--[a-z][a-z0-9-]+(?: <[a-z0-9=:[\]]+>| \[[a-z]+\])?$/);
        // A word behind a value that may be left out could be anything.
        expect(option.flags.includes(" [") && option.choices === undefined, option.flags).toBe(false);
        expect(option.summary, option.flags).not.toMatch(/\.$/);
      }
      const flags = options.flatMap((option) => option.flags.match(/--?[\w-]+/g) ?? []);
      expect(new Set(flags).size, name).toBe(flags.length);
    }
  });

  test("an engine that does not answer is named, with the command that starts it", async () => {
    const place = await commandLine({ variables: { DOCKER_HOST: "unix:///nowhere/docker.sock" } });
    const hello = fileURLToPath(new URL("../../../examples/workflow/hello.yaml", import.meta.url));
    const refused = await place.run("run", "--ephemeral", "--runtime", "docker", hello);
    await place.close();
    expect(refused.code).toBe(1);
    expect(refused.err).toContain("no Docker Engine answers at unix:///nowhere/docker.sock");
    expect(refused.err).toContain("sudo apt-get install docker.io");
  });

  test("a port that there is not is refused", async () => {
    expect(await cli.run("up", "--port", "65536")).toMatchObject({
      code: 2,
      err: "slipway: expected a port from 0 to 65535, found 65536\n",
    });
  });

  test.each([
    [["--listen", "build.example"], 'for --listen, found "build.example"\n', "--name"],
    [["--listen", "192.0.2.7:65536"], "expected a port from 0 to 65535, found 65536\n", ""],
    [["--listen", "192.0.2.7", "--listen", "x"], 'for --listen, found "x"\n', "--name"],
    [["--name", "https://build.example"], 'for --name, found "https://build.example"\n', ""],
  ])("up %j is refused before anything is begun", async (words, message, hint) => {
    const { code, out, err } = await cli.run("up", ...words);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(message);
    expect(err).toContain(hint);
  });

  test.each([
    ["get", "wf"],
    ["describe", "x"],
    ["logs", "x"],
    ["cancel", "x"],
    ["graph", "x"],
  ])("slipway %s %s without a control plane says how to start one", async (...words) => {
    const alone = await commandLine({ clock: rushedClock() });
    const { code, out, err } = await alone.run(...words);
    await alone.close();
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toBe(
      `slipway: no control plane is running in ${alone.directory}/.slipway\nstart one with: slipway up --detach\nor name another with: --kubeconfig FILE\n`,
    );
  });
});
