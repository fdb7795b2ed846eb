import { homedir } from "node:os";
import { isatty } from "node:tty";

/** What the command line knows of where it runs. Read once; everything below gets it as an argument. */
export interface Environment {
  readonly variable: (name: string) => string | undefined;
  /** All variables, for credential commands of a kubeconfig, which inherit them. */
  readonly all: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly directory: string;
  readonly out: Output;
  readonly err: Output;
}

/** One of the two streams. `write` never throws; a reader that went away ends the program quietly. */
export interface Output {
  readonly isTerminal: boolean;
  readonly columns: number;
  readonly rows: number;
  readonly color: boolean;
  /** False when the locale is not UTF-8: then only ASCII is drawn. */
  readonly unicode: boolean;
  write(text: string): void;
}

/** `--color` as given on the command line. */
export type ColorChoice = "auto" | "always" | "never";

/** Looks at the process. A variable that is set to nothing counts as not set. */
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

function outputOf(
  stream: NodeJS.WriteStream,
  fd: number,
  variable: Environment["variable"],
  color: ColorChoice,
): Output {
  const isTerminal = isatty(fd) && variable("TERM") !== "dumb";
  return {
    isTerminal,
    get columns() {
      return stream.columns ?? 120;
    },
    get rows() {
      return stream.rows ?? 24;
    },
    color: wantsColor(isTerminal, variable, color),
    unicode: /utf-?8/i.test(variable("LC_ALL") ?? variable("LC_CTYPE") ?? variable("LANG") ?? ""),
    write: (text) => void stream.write(text),
  };
}

function wantsColor(isTerminal: boolean, variable: Environment["variable"], color: ColorChoice): boolean {
  if (color !== "auto") return color === "always";
  if (variable("NO_COLOR") !== undefined) return false;
  const forced = variable("FORCE_COLOR");
  return forced === undefined ? isTerminal : forced !== "0";
}

/** `$SLIPWAY_DATA_DIR`, else `~/.slipway`: where `slipway up` keeps its state and others look for a running one. */
export const defaultDataDirectory = ({ variable, home }: Environment): string =>
  variable("SLIPWAY_DATA_DIR") ?? `${home}/.slipway`;
