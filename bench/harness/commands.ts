import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "./environment.ts";

/** A program and its words, as they are typed. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Of this package, as package.json installs it. */
export function ownCommand({ home }: Environment): string {
  const text = readFileSync(join(home, "..", "package.json"), "utf8");
  const { bin } = JSON.parse(text) as { readonly bin: { readonly slipway: string } };
  return join(home, "..", bin.slipway);
}

/**
 * Variables by which commands take the directories of this run for those of their user: what they count, remember and leave behind is gone
 * with it, and settings of whoever measures change nothing.
 */
export function ownPlaces(environment: Environment): Promise<Readonly<Record<string, string>>> {
  return environment.once("own places", async () => {
    const HOME = await environment.directory();
    const XDG_CONFIG_HOME = join(HOME, "config");
    return { HOME, TMPDIR: await environment.directory(), XDG_CONFIG_HOME, XDG_CACHE_HOME: join(HOME, "cache") };
  });
}

/** Rejects when a program, or a file that it is called with, is not there. */
export function refuseAbsent({ program, args }: Pick<Command, "program" | "args">): void {
  const absent = [program, ...args.filter((arg) => arg.startsWith("/"))].find((path) => !existsSync(path));
  if (absent !== undefined) throw new Error(`${absent} is not there, run npm ci in bench/peers`);
}

/** Runs a command to its end; answers the milliseconds it took. Rejects with the end of what it says when that is not a success. */
export function runCommand({ program, args, cwd, env }: Command): Promise<number> {
  const begin = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const output of [child.stdout, child.stderr])
      output.on("data", (part: Buffer) => (said = (said + part.toString()).slice(-500)));
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(performance.now() - begin);
      else reject(new Error(`${args.join(" ")} ended with ${code}: ${said}`));
    });
  });
}
