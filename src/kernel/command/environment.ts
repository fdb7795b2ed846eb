import { homedir } from "node:os";
import { isatty } from "node:tty";

/**
 * What the command line knows of where it runs. Read once; everything below gets it as an argument, so that a test
 * can be anywhere.
 */
export interface Environment {
  /** The value of a variable; undefined when it is not set, or set to nothing. */
  readonly variable: (name: string) => string | undefined;
  /** All variables, for credential commands of a kubeconfig, which inherit them. */
  readonly all: Readonly<Record<string, string | undefined>>;
  /** The user's own directory, absolute. */
  readonly home: string;
  /** What relative paths of the command line are relative to, absolute. */
  readonly directory: string;
  /** Data, and nothing else: what a pipe behind the command is meant to read. */
  readonly out: Output;
  /**
   * Everything else: progress, remarks, errors. The live view is drawn here, so that data can be redirected under it.
   */
  readonly err: Output;
}

/** One of the two streams. `write` never throws; a reader that went away ends the program quietly. */
export interface Output {
  /** False also for a terminal that calls itself `dumb`: nothing can be drawn twice there. */
  readonly isTerminal: boolean;
  /** Changes with the window, hence asked for each drawing; 120 where nothing is known. */
  readonly columns: number;
  readonly rows: number;
  /** Decided by `--color`, then `NO_COLOR` (no-color.org), then `FORCE_COLOR`, then by whether this is a terminal. */
  readonly color: boolean;
  /** False when the locale is not UTF-8: then only ASCII is drawn. */
  readonly unicode: boolean;
  /** Bytes that were written and that the reader has not taken yet; 0 once it has gone away. */
  readonly backlog: number;
  /** Ends no line by itself. */
  write(text: string): void;
}

/** `--color` as given on the command line; `auto` leaves it to variables and terminal. */
export type ColorChoice = "auto" | "always" | "never";

/**
 * Looks at the process: the only place that does. A variable that is set to nothing counts as not set, as
 * no-color.org and POSIX's locale variables have it.
 */
export function readEnvironment(color: ColorChoice = "auto"): Environment {
  const variable = (name: string) => (process.env[name] === "" ? undefined : process.env[name]);
  return {
    variable,
    all: process.env,
    home: homedir(),
    directory: process.cwd(),
    out: outputOf(process.stdout, 1, variable, color),
    err: outputOf(process.stderr, 2, variable, color),
  };
}

/** What can be drawn on an output. */
export type OutputStyle = Pick<Output, "isTerminal" | "color" | "unicode">;

/**
 * How an output may look, from what is known of it. `isTty` is the system's word. The order for colours: `--color`, then
 * `NO_COLOR` whatever it says (no-color.org), then `FORCE_COLOR`, of which `0` alone is a no (as for Node), then whether
 * somebody looks. For the letters: the first locale variable that is set, in POSIX's order.
 */
export function styleOf(isTty: boolean, variable: Environment["variable"], color: ColorChoice): OutputStyle {
  const isTerminal = isTty && variable("TERM") !== "dumb";
  return {
    isTerminal,
    color: wantsColor(isTerminal, variable, color),
    unicode: /utf-?8/i.test(variable("LC_ALL") ?? variable("LC_CTYPE") ?? variable("LANG") ?? ""),
  };
}

function wantsColor(isTerminal: boolean, variable: Environment["variable"], color: ColorChoice): boolean {
  if (color !== "auto") return color === "always";
  if (variable("NO_COLOR") !== undefined) return false;
  const forced = variable("FORCE_COLOR");
  return forced === undefined ? isTerminal : forced !== "0";
}

const outputOf = (
  stream: NodeJS.WriteStream,
  fd: number,
  variable: Environment["variable"],
  color: ColorChoice,
): Output => ({
  ...styleOf(isatty(fd), variable, color),
  get columns() {
    // Some terminals say 0, which means that they do not know.
    return stream.columns || 120;
  },
  get rows() {
    return stream.rows || 24;
  },
  get backlog() {
    return stream.writable ? stream.writableLength : 0;
  },
  write: (text) => void stream.write(text),
});

/** `$SLIPWAY_DATA_DIR`, else `~/.slipway`: where `slipway up` keeps its state and others look for a running one. */
export const defaultDataDirectory = ({ variable, home }: Environment): string =>
  variable("SLIPWAY_DATA_DIR") ?? `${home}/.slipway`;
