import { PassThrough } from "node:stream";
import { deferred } from "#lib/base/index.ts";
import { badRequest, type KubeObject } from "#kernel/model/index.ts";
import type { Interaction, TerminalSize, PodSessionRequest, PodSessions } from "#kernel/runtimes/index.ts";

/** A command in a Pod whose end the test decides. */
export interface ScriptedCommand {
  readonly pod: string;
  readonly command: readonly string[];
  readonly request: PodSessionRequest;
  /** What was written to its standard input. */
  readonly stdin: PassThrough;
  readonly stdout: PassThrough;
  readonly stderr: PassThrough;
  readonly sizes: readonly TerminalSize[];
  readonly isKilled: () => boolean;
  /** Ends its outputs, then itself. */
  exit(code: number): void;
  fail(message: string): void;
}

/** Pods whose commands do what a test says. */
export interface ScriptedSessions extends PodSessions {
  /** All commands so far; attachments are those without one. */
  readonly commands: readonly ScriptedCommand[];
}

/** `dial` is what a connection to a port leads to. */
export function scriptedSessions(dial: PodSessions["connect"]): ScriptedSessions {
  const commands: ScriptedCommand[] = [];
  const start = (
    { metadata: { name = "" } }: KubeObject,
    command: readonly string[],
    request: PodSessionRequest,
  ): Interaction => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const sizes: TerminalSize[] = [];
    const ended = deferred<number>();
    ended.promise.catch(() => undefined);
    let killed = false;
    const exit = (code: number) => {
      stdout.end();
      stderr.end();
      ended.resolve(code);
    };
    const fail = (message: string) => {
      stdout.end();
      stderr.end();
      ended.reject(new Error(message));
    };
    commands.push({ pod: name, command, request, stdin, stdout, stderr, sizes, isKilled: () => killed, exit, fail });
    return {
      ...(request.stdin ? { stdin } : {}),
      stdout,
      ...(request.terminal ? {} : { stderr }),
      ended: ended.promise,
      resize: (size) => void sizes.push(size),
      kill: () => {
        killed = true;
        exit(137);
      },
    };
  };
  return {
    commands,
    async check(_pod, { stdin }, what) {
      if (what === "attach" && stdin) throw badRequest("no stdin");
    },
    exec: async (pod, command, request) => start(pod, command, request),
    attach: async (pod, request) => start(pod, [], request),
    connect: dial,
  };
}
