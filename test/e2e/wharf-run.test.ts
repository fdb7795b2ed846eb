import { execFileSync, spawn } from "node:child_process";
import { mkdir, open, readdir, readFile, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { cleanEnvironment, removeDirectory, slipway, slipwayBin } from "#test/support/slipway.ts";
import { wharfHeaders, wharfTokenFile } from "#test/support/wharf-access.ts";
import {
  messagesOf,
  processesBelow,
  readBuildFile,
  resultsOf,
  startWharf,
  type WharfProject,
  wharfProject,
} from "#test/support/wharf.ts";

const homes: string[] = [];
const project = async (definition: string, files: Readonly<Record<string, string>> = {}): Promise<WharfProject> => {
  const made = await wharfProject(definition, files);
  homes.push(made.home);
  return made;
};
afterEach(async () => {
  for (const home of homes.splice(0)) await removeDirectory(home);
});

const step = (...cmds: readonly string[]): string => `{container: {image: any, cmds: ${JSON.stringify(cmds)}}}`;
const run = (at: WharfProject, ...args: readonly string[]) =>
  slipway(["run", "--runtime", "host", ...args], { cwd: at.directory, env: at.env });

describe("a build", () => {
  test("runs stages in their order and their steps at once, and says how each ended", async () => {
    // Each step waits for what the two others write: they end only when all three run at once.
    const meet = (own: string, ...others: readonly string[]): string =>
      step(
        `touch ../../../../meet-${own}`,
        ...others.map((name) => `until test -e ../../../../meet-${name}; do sleep 0.02; done`),
      );
    const at = await project(
      `first:\n  a: ${meet("a", "b", "c")}\n  b: ${meet("b", "a", "c")}\n  c: ${meet("c", "a", "b")}\nsecond:\n  d: ${step("echo done", 'echo file > "$WHARF_ARTIFACTS_DIR/a.txt"')}\n`,
    );
    const { code, out, err } = await run(at, "--build-id", "12");
    expect([code, err]).toEqual([0, expect.stringContaining("images are ignored")]);
    expect(out).toContain("second/d │ done\n");
    expect(out).toMatch(/second +d +Success +[\d.]+s +0\n/);
    expect(out).toContain(`results: ${resultsOf(at, 12)}\n`);
    expect(await readBuildFile(resultsOf(at, 12))).toMatchObject({ status: "Success", frozen: true });
    expect(await messagesOf(resultsOf(at, 12), 4)).toEqual(["done"]);
    expect(await readFile(join(resultsOf(at, 12), "steps/4/artifacts/1_a.txt"), "utf8")).toBe("file\n");
    expect(await readdir(resultsOf(at, 12))).not.toContain("work");
  });

  test.each(["run-if", "runs-if"])("of the example with %s runs five of its stages, and fails", async (key) => {
    const stage = (name: string, when: string, command = "true"): string => `${name}:\n${when}  s: ${step(command)}\n`;
    const at = await project(
      [
        stage("s1", ""),
        stage("s2", `  ${key}: always\n`),
        stage("s3", `  ${key}: success\n`, "false"),
        stage("s4", ""),
        stage("s5", `  ${key}: fail\n`),
        stage("s6", `  ${key}: success\n`),
        stage("s7", `  ${key}: always\n`),
        stage("s8", `  ${key}: fail\n`),
      ].join(""),
    );
    const { code } = await run(at, "--build-id", "1", "--quiet");
    expect(code).toBe(1);
    const { stages } = await readBuildFile(resultsOf(at, 1));
    expect(stages.filter(({ status }) => status !== "None").map(({ name }) => name)).toEqual([
      "s1",
      "s2",
      "s3",
      "s5",
      "s7",
      "s8",
    ]);
  });

  test("shows the last lines of what has failed", async () => {
    const at = await project(`s:\n  bad: ${step("seq 1 30", "exit 42")}\n`);
    const { code, out } = await run(at, "--quiet");
    expect(code).toBe(1);
    expect(out).toContain(`last lines of s/bad:\n${Array.from({ length: 20 }, (_, n) => `  ${n + 11}\n`).join("")}`);
    expect(out).toMatch(/s +bad +Failed +[\d.]+s +42\n/);
    expect(out).not.toContain("\u001b[");
  });

  test("gives each step a copy of its own, and leaves the project as it is", async () => {
    const at = await project(`s:\n  a: ${step("echo a > x-a", "ls")}\n  b: ${step("echo b > x-b", "ls")}\n`, {
      "dir/file": "text",
    });
    expect((await run(at, "--build-id", "1")).code).toBe(0);
    expect(await messagesOf(resultsOf(at, 1), 1)).toEqual(["dir", "x-a"]);
    expect(await messagesOf(resultsOf(at, 1), 2)).toEqual(["dir", "x-b"]);
    expect(execFileSync("git", ["status", "--porcelain"], { cwd: at.directory, encoding: "utf8" })).toBe("");
  });

  test("leaves what failed steps have worked in, if that is wanted, and nothing else", async () => {
    const at = await project(`s:\n  good: ${step("true")}\nt:\n  bad: ${step("echo made > here", "exit 1")}\n`);
    expect((await run(at, "--build-id", "1", "--keep")).code).toBe(1);
    const work = join(resultsOf(at, 1), "work");
    expect(await readdir(work)).toEqual(["2"]);
    expect(await readFile(join(work, "2/repo/here"), "utf8")).toBe("made\n");
    expect((await run(at, "--build-id", "2")).code).toBe(1);
    expect(await readdir(resultsOf(at, 2))).not.toContain("work");
  });

  test("ends a step whose time is over, and what it has started", async () => {
    const at = await project(
      "s:\n  slow: {container: {image: any, timeout: 300ms, cmds: ['echo begun; sleep 1000']}}\n",
    );
    const { code, out } = await run(at, "--build-id", "1");
    expect(code).toBe(1);
    expect(out).toContain("Failed: not finished within 0.3s");
    // The time begins before the step has a process: how far it comes in it is the machine's to say.
    expect((await messagesOf(resultsOf(at, 1), 1)).at(-1)).toBe("[slipway] not finished within 0.3s");
    await expect.poll(() => processesBelow(at.home)).toEqual([]);
  });

  test("is told as JSON, an object a line", async () => {
    const at = await project(`s:\n  a: ${step("echo one", "echo two >&2")}\n`);
    const { code, out } = await run(at, "--output", "json", "--build-id", "3");
    expect(code).toBe(0);
    const events = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly type: string; readonly msg: string });
    expect(events.filter(({ type }) => type === "log")).toMatchObject([
      { stepId: 1, logId: 1, msg: "one", t: expect.stringMatching(/Z$/) as string },
      { stepId: 1, logId: 2, msg: "two" },
    ]);
    const told = events.filter(({ type }) => type === "status").map(({ msg }) => msg);
    expect(told).toEqual(["None", "Scheduling", "Initializing", "Running", "Success"]);
    expect(events.at(-1)).toMatchObject({ type: "build", buildId: 3, msg: "Success", results: resultsOf(at, 3) });
  });

  test("shows no password, in whatever form a step prints it", async () => {
    const secret = "hunter2+geheim";
    const at = await project(
      `inputs: [{name: pw, type: password}]\ns:\n  a: ${step(
        "p='${pw}'",
        'echo "plain $p"',
        `printf %s "$p" | base64`,
        `printf hunter2; sleep 0.2; echo +geheim`,
        "echo hunter2%2Bgeheim",
      )}\n`,
    );
    const { code, out, err } = await run(at, "--build-id", "1", "-i", `pw=${secret}`);
    expect(code).toBe(0);
    expect(await messagesOf(resultsOf(at, 1), 1)).toEqual(["plain ***", "***", "***", "***"]);
    for (const text of [out, err]) {
      expect(text).not.toContain("hunter2");
      expect(text).not.toContain(Buffer.from(secret).toString("base64"));
    }
    const files = await readdir(resultsOf(at, 1), { recursive: true, withFileTypes: true });
    for (const file of files.filter((each) => each.isFile()))
      expect(await readFile(join(file.parentPath, file.name), "latin1")).not.toContain("hunter2");
  });
});

describe("a signal", () => {
  const waits = `s:\n  a: ${step("sleep 1000 & echo ready; sleep 1000")}\n  b: ${step("trap '' TERM; echo ready; while :; do sleep 1000; done")}\nt:\n  runs-if: always\n  c: ${step("true")}\n`;

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("%s cancels the build: nothing of it is left", async (signal, code) => {
    const at = await project(waits);
    const build = startWharf(at, ["--build-id", "1", "--grace", "200ms"]);
    await expect.poll(() => build.out().split("│ ready").length).toBe(3);
    build.child.kill(signal);
    expect(await build.ended).toEqual({ code, signal: null });
    await expect.poll(() => processesBelow(at.home)).toEqual([]);
    const { status, steps } = await readBuildFile(resultsOf(at, 1));
    expect([status, ...steps.map((each) => each.status)]).toEqual(["Cancelled", "Cancelled", "Cancelled", "None"]);
  });

  test("that comes twice ends it at once", async () => {
    const at = await project(waits);
    const build = startWharf(at, ["--build-id", "1", "--grace", "1h"]);
    await expect.poll(() => build.out().split("│ ready").length).toBe(3);
    build.child.kill("SIGINT");
    await expect.poll(build.err).toContain("interrupt again");
    build.child.kill("SIGINT");
    expect(await build.ended).toEqual({ code: 2, signal: null });
    await expect.poll(() => processesBelow(at.home)).toEqual([]);
  });

  test("that an engine does not let a build follow ends it with a code of its own, some time after the grace", async () => {
    // An engine that takes a container and says nothing of it any more.
    let asked = "";
    const answers: Readonly<Record<string, object>> = {
      _ping: {},
      version: { Version: "1", Os: "linux" },
      "containers/json": [],
      "images/any/json": { Id: "sha256:1", Config: { User: "" } },
    };
    const engine = createHttpServer((request, response) => {
      asked = request.url?.replace(/^\/(?:v[\d.]+\/)?|\?.*/g, "") ?? "";
      const answer = answers[asked];
      if (answer !== undefined) response.setHeader("api-version", "1.43").end(JSON.stringify(answer));
    });
    await new Promise<void>((resolve) => engine.listen(0, "127.0.0.1", resolve));
    const at = await project(`s: {a: ${step("true")}}\n`);
    const env = { ...at.env, DOCKER_HOST: `tcp://127.0.0.1:${(engine.address() as AddressInfo).port}` };
    const build = startWharf({ ...at, env }, ["--runtime", "docker", "--build-id", "1", "--grace", "0s"]);
    try {
      await expect.poll(() => asked).toBe("containers/create");
      build.child.kill("SIGINT");
      await expect.poll(build.err).toContain("the build is being cancelled");
      expect(await build.ended).toEqual({ code: 3, signal: null });
    } finally {
      build.child.kill("SIGKILL");
      engine.closeAllConnections();
      engine.close();
    }
  });
});

describe("a reader", () => {
  const long = `s:\n  a: ${step("seq 1 200000")}\n`;
  const lastLine = async (at: WharfProject) => (await messagesOf(resultsOf(at, 1), 1)).at(-1);

  test("that goes away ends only what is shown", async () => {
    const at = await project(long);
    const build = startWharf(at, ["--build-id", "1"]);
    build.child.stdout.once("data", () => build.child.stdout.destroy());
    expect(await build.ended).toEqual({ code: 0, signal: null });
    expect(await lastLine(at)).toBe("200000");
  });

  test("that never reads holds up nothing", async () => {
    const at = await project(long);
    const words = [slipwayBin, "run", "--runtime", "host", "--build-id", "1"];
    const child = spawn(process.execPath, words, {
      cwd: at.directory,
      env: cleanEnvironment(at.env),
      stdio: ["ignore", "pipe", "ignore"],
    });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    expect(await ended).toBe(0);
    expect(await readBuildFile(resultsOf(at, 1))).toMatchObject({ status: "Success", frozen: true });
    expect(await lastLine(at)).toBe("200000");
    child.stdout.destroy();
  });

  test.skipIf(process.platform !== "linux")("whose disk is full ends only what is shown", async () => {
    const at = await project(long);
    const full = await open("/dev/full", "w");
    const child = spawn(process.execPath, [slipwayBin, "run", "--runtime", "host", "--build-id", "1"], {
      cwd: at.directory,
      env: cleanEnvironment(at.env),
      stdio: ["ignore", full.fd, full.fd],
    });
    expect(await new Promise((resolve) => child.once("exit", resolve))).toBe(0);
    await full.close();
    expect(await readBuildFile(resultsOf(at, 1))).toMatchObject({ status: "Success", frozen: true });
    expect(await lastLine(at)).toBe("200000");
  });
});

describe("first contact", () => {
  const said = async (at: WharfProject, ...args: readonly string[]) => {
    const { code, err } = await slipway(["run", ...args], { cwd: at.directory, env: at.env });
    return { code, err };
  };

  test("without a definition names the path, and the nearest one above", async () => {
    const at = await project(`s:\n  a: ${step("true")}\n`);
    await mkdir(join(at.directory, "deep/er"), { recursive: true });
    const below = { ...at, directory: join(at.directory, "deep/er") };
    expect(await said(below)).toEqual({
      code: 1,
      err: `slipway: there is no ${below.directory}/.wharf-ci.yml\ndid you mean ${at.directory}?\n`,
    });
  });

  test("without an engine names all ways to run steps, and takes none by itself", async () => {
    const at = await project(`s:\n  a: ${step("touch ../../../../ran")}\n`);
    const none = { ...at, env: { ...at.env, DOCKER_HOST: `unix://${at.home}/no.sock` } };
    const { code, err } = await said(none);
    expect(code).toBe(1);
    for (const way of ["--runtime docker", "--runtime kubernetes", "--runtime host"]) expect(err).toContain(way);
    expect(await readdir(at.home)).not.toContain("ran");
  });

  test("with a mistake shows its place, and runs nothing", async () => {
    const at = await project("s:\n  a: {container: {image: any, cmd: [x]}}\n");
    const { code, err } = await said(at, "--runtime", "host");
    expect(code).toBe(1);
    expect(err).toContain(".wharf-ci.yml:2:7: error: s/a/container/cmds: ");
    expect(err).toContain(".wharf-ci.yml:2:31: warning: ");
  });

  test("with a selection of nothing names it", async () => {
    const at = await project(`environments: {e: {}}\ns:\n  environments: [e]\n  a: ${step("true")}\n`);
    expect(await said(at, "--runtime", "host")).toEqual({
      code: 1,
      err: "slipway: nothing to run: no stage is selected without --environment\n",
    });
  });

  test("with a step that this machine cannot run starts nothing", async () => {
    const at = await project(
      `s:\n  a: ${step("touch ../../../../ran")}\n  b: {docker: {file: Dockerfile, tag: x, destination: d/e, secret: ""}}\n`,
    );
    const { code, err } = await said(at, "--runtime", "host");
    expect(code).toBe(1);
    expect(err).toContain("error: s/b/docker: ");
    expect(await readdir(at.home)).not.toContain("ran");
  });

  test("with a results directory that cannot be written starts nothing", async () => {
    const at = await project(`s:\n  a: ${step("touch ../../../../ran")}\n`);
    await writeFile(join(at.home, "file"), "");
    const { code, err } = await said(at, "--runtime", "host", "--results-dir", join(at.home, "file/results"));
    expect(code).toBe(1);
    expect(err).toContain("results directory");
    expect(await readdir(at.home)).not.toContain("ran");
  });

  test("with words for documents says so", async () => {
    const at = await project(`s:\n  a: ${step("true")}\n`);
    expect(await said(at, "--param", "a=b")).toEqual({
      code: 2,
      err: "slipway: --param is for documents, and this is a build\n",
    });
    await writeFile(join(at.directory, "w.yaml"), "");
    expect(await said(at, "w.yaml", "--stage", "x")).toEqual({
      code: 2,
      err: "slipway: --stage is for builds, and these are documents\n",
    });
  });
});

describe("served results", () => {
  /** Said before anything of the build, on the other stream. */
  const port = (build: ReturnType<typeof startWharf>): string =>
    /served at http:\/\/(\S+)\n/.exec(build.err())?.[1] ?? "";
  const ask = async (address: string, path: string, headers: Record<string, string>): Promise<Response> =>
    await fetch(`http://${address}${path}`, { headers });

  test("of a build that has failed can be read after it, until a signal ends the worker with the build's code", async () => {
    const at = await project(`s:\n  bad: ${step("echo what was wrong", "exit 3")}\n`);
    const build = startWharf(at, ["--build-id", "1", "--serve", "--address", "127.0.0.1:0"]);
    await expect.poll(build.out).toContain("build 1 Failed");
    const address = port(build);
    // The token is this user's own, in a file that the log names.
    expect(build.err()).toContain(`clients present the token in ${wharfTokenFile(join(at.home, ".slipway"))}`);
    const headers = { ...wharfHeaders(join(at.home, ".slipway")) };
    expect((await ask(address, "/api/build", {})).status).toBe(401);
    const told: unknown = await (await ask(address, "/api/build", headers)).json();
    expect(told).toMatchObject({ buildId: 1, status: "Failed", frozen: true });
    const log = await ask(address, "/api/build/step/1/log", headers);
    expect(await log.text()).toBe("what was wrong\n");
    expect(await readBuildFile(resultsOf(at, 1))).toMatchObject({ address });
    build.child.kill("SIGTERM");
    expect(await build.ended).toEqual({ code: 1, signal: null });
  });

  test("of a build that runs: whoever may ask can cancel it", async () => {
    const at = await project(`s:\n  long: ${step("echo ready; sleep 1000")}\n`);
    await writeFile(join(at.home, "token"), "open-sesame\n");
    const build = startWharf(at, [
      "--build-id",
      "1",
      "--serve",
      "--address",
      "127.0.0.1:0",
      "--auth-token-file",
      join(at.home, "token"),
    ]);
    await expect.poll(build.out).toContain("│ ready");
    const address = port(build);
    const cancel = (token: string) =>
      fetch(`http://${address}/api/build/cancel`, { method: "POST", headers: { authorization: `Bearer ${token}` } });
    expect((await cancel("wrong")).status).toBe(401);
    expect((await cancel("open-sesame")).status).toBe(202);
    await expect.poll(build.out).toContain("build 1 Cancelled");
    build.child.kill("SIGTERM");
    expect(await build.ended).toEqual({ code: 1, signal: null });
  });

  test("at an address that is taken are refused before the build", async () => {
    const at = await project(`s:\n  a: ${step("touch ../../../../../../ran")}\n`);
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port: number } = taken.address() as AddressInfo;
    const { code, err } = await run(at, "--serve", "--address", `127.0.0.1:${number}`);
    taken.close();
    expect(code).toBe(1);
    expect(err).toContain(`127.0.0.1:${number}`);
    expect(await readdir(at.home)).not.toContain("ran");
  });
});

describe("around a build", () => {
  test("numbers are counted where nobody gives one", async () => {
    const at = await project(`s:\n  a: ${step("echo number ${BUILD_REF} $WHARF_BUILD_ID")}\n`);
    expect((await run(at)).out).toContain("│ number 1 1\n");
    expect((await run(at)).out).toContain("│ number 2 2\n");
    // What cannot be run needs no number.
    expect((await run(at, "--stage", "none")).code).toBe(1);
    expect((await run(at)).out).toContain("│ number 3 3\n");
  });

  test("inputs come from a file, too", async () => {
    const at = await project(
      `inputs: [{name: a, type: string}, {name: b, type: number}]\ns:\n  a: ${step("echo ${a}-${b}")}\n`,
    );
    await writeFile(join(at.home, "inputs.json"), JSON.stringify({ a: "of the file", b: 3 }));
    const { out } = await run(at, "--input-file", join(at.home, "inputs.json"), "-i", "b=4");
    expect(out).toContain("│ of the file-4\n");
  });

  test("secrets are the user's files, and are not shown; a missing one fails its step by name", async () => {
    const at = await project(
      `s:\n  a: {container: {image: any, secretName: s, cmds: ['echo "token $TOKEN"', "env | grep -c TOKEN"]}}\nt:\n  runs-if: always\n  b: {container: {image: any, secretName: none, cmds: ["true"]}}\n`,
    );
    const home = join(at.home, ".config/slipway/secrets/wharf-local-project-7-secretname-s");
    await mkdir(home, { recursive: true });
    await writeFile(join(home, "TOKEN"), "geheimnis", { mode: 0o600 });
    const { code, out } = await run(at, "--project-id", "7", "--build-id", "1");
    expect(code).toBe(1);
    expect(await messagesOf(resultsOf(at, 1), 1)).toEqual(["token ***", "1"]);
    expect(out).toContain("there is no secret wharf-local-project-7-secretname-none; looked in ");
    expect(out).not.toContain("geheimnis");
  });

  test("settings that are wrong end it with their own code", async () => {
    const at = await project(`s:\n  a: ${step("true")}\n`, { ".wharf-cmd-config.yml": "worker: {runtime: mars}\n" });
    const { code, err } = await slipway(["run"], { cwd: at.directory, env: at.env });
    expect([code, err]).toEqual([4, expect.stringContaining(".wharf-cmd-config.yml:1:19: error: ")]);
  });

  test("the runtime may be configured", async () => {
    const at = await project(`s:\n  a: ${step("echo here")}\n`, {
      ".wharf-cmd-config.yml": "worker: {runtime: host}\n",
    });
    const env = { ...at.env, WHARF_CONFIG: ".wharf-cmd-config.yml" };
    const { code, out } = await slipway(["wharf", "run"], { cwd: at.directory, env });
    expect([code, out]).toEqual([0, expect.stringContaining("│ here\n")]);
  });

  test("a repository does not choose by its settings that it runs unconfined", async () => {
    const at = await project(`s:\n  a: ${step("echo here")}\n`, {
      ".wharf-cmd-config.yml": "worker: {runtime: host}\n",
    });
    const env = { ...at.env, DOCKER_HOST: `unix://${at.home}/none` };
    const { code, out, err } = await slipway(["run"], { cwd: at.directory, env });
    expect(code).not.toBe(0);
    expect(out).not.toContain("│ here");
    expect(err).toContain("warning: worker.runtime: ");
    expect(err).toContain("--runtime host");
  });
});
