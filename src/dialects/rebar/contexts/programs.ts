import { type Logger, messageOf, shellQuoted } from "#lib/base/index.ts";
import type { Running, WorkPlace } from "../agent/work-place.ts";

/** Starts programs in one container. */
export interface Programs {
  /** `stdin` is written and ended; both outputs come as one. */
  start(command: readonly string[], stdin?: Uint8Array): Promise<Running>;
}

/** Keeps a container for an agent that runs here until it is stopped. */
export const idle = ["/bin/sh", "-c", "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"] as const;

/** Where an agent that runs here works in a container, with nothing but a shell there. */
export async function openContainerPlace(programs: Programs, log: Logger): Promise<WorkPlace> {
  const made = await shell(programs, 'd=$(mktemp -d "${TMPDIR:-/tmp}/runner-XXXXXX") && echo "$d" && echo "$HOME"', []);
  const [runnerDirectory = "", home = ""] = made.split("\n");
  return {
    runnerDirectory,
    environment: home === "" ? {} : { HOME: home },
    makeTaskDirectory: async (task) =>
      (await shell(programs, 'mktemp -d "$1/$2-XXXXXX"', [runnerDirectory, task])).trim(),
    async write(path, content, mode) {
      const steps = 'mkdir -p "$(dirname "$1")" && cat > "$1" && chmod "$2" "$1"';
      await shell(programs, steps, [path, mode.toString(8)], Buffer.from(content));
    },
    isFile: (path) =>
      shell(programs, 'test -f "$1"', [path]).then(
        () => true,
        () => false,
      ),
    remove: async (directory) => void (await shell(programs, 'rm -rf "$1"', [directory])),
    async start({ command, env, directory }) {
      const running = await programs.start(
        ["/bin/sh", "-c", launch, directory, ...command],
        Buffer.from(exportsOf(env)),
      );
      const kill = () =>
        void shell(programs, killing, [directory]).catch((thrown: unknown) => {
          log.warn("a script in a container could not be killed", { error: messageOf(thrown) });
          running.kill();
        });
      return { output: running.output, ended: running.ended, kill };
    },
    close: () => Promise.resolve(),
  };
}

/**
 * Reads the variables from its input, so that no token is on a command line. The process is the leader of its own
 * group, whose number is noted.
 */
const launch = 'cd "$0" || exit 126; eval "$(cat)"; echo $$ > .process-group; exec "$@" 2>&1 < /dev/null';
const killing = 'read -r group < "$1/.process-group" && kill -s KILL -- "-$group"';

const exportsOf = (env: Readonly<Record<string, string>>): string =>
  Object.entries(env)
    .filter(([name]) => /^[A-Za-z_]\w*$/.test(name))
    .map(([name, value]) => `export ${name}=${shellQuoted(value)}\n`)
    .join("");

/** The output of a script; rejects unless it ends with 0. */
async function shell(
  programs: Programs,
  script: string,
  words: readonly string[],
  stdin?: Uint8Array,
): Promise<string> {
  const { output, ended } = await programs.start(["/bin/sh", "-c", script, "sh", ...words], stdin);
  const pieces: Uint8Array[] = [];
  for await (const piece of output) pieces.push(piece);
  const text = Buffer.concat(pieces).toString("utf8");
  const code = await ended;
  if (code !== 0) throw new Error(`the container's shell ended with ${code}: ${text.trim().slice(0, 500)}`);
  return text;
}
