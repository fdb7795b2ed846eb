/**
 * One sentence of the acceptance list as a terminal session: commands that run one after the other in `sh`, each with what it
 * must print. `kubectl` is the one under test, `$NS` a namespace of the case's own and the default one, the working directory a
 * new one that holds `files`.
 */
export interface Case {
  /** The line of the acceptance list. */
  readonly line: number;
  /** A sentence; with the line it is the name of the test. */
  readonly name: string;
  /** The first minor of kubectl 1.x that has the commands. Earlier ones do not get the case. */
  readonly since?: number;
  /** The kinds it works with beyond ConfigMaps, as `cronjobs.batch`. A server that does not have them fails the case by name. */
  readonly needs?: readonly string[];
  /** Why no other server passes it. */
  readonly embeddedOnly?: string;
  /** Text, or an object written as JSON. `$NS` in it is the namespace. */
  readonly files?: Readonly<Record<string, object | string>>;
  readonly steps: readonly Step[];
}

/** A command and what is expected of it; a pattern or text alone is about what it prints, and that it succeeds. */
export type Step = readonly [command: string, expected?: string | RegExp | Expected];

export interface Expected {
  /** 0 unless told. */
  readonly code?: number;
  /** All of standard output, or a pattern in it; each of several. `$NS` in texts is the namespace. */
  readonly out?: string | RegExp | readonly (string | RegExp)[];
  readonly err?: RegExp | readonly RegExp[];
  /** Must be neither in what is printed nor in what is complained about. */
  readonly never?: RegExp;
  /** What is asked comes about by the work of controllers: the command is repeated until it fits, up to a minute. */
  readonly eventually?: true;
}

/** The command ends with 1 and says this on standard error. */
export const refused = (err: RegExp, code = 1): Expected => ({ code, err });

/** What comes about by itself. */
export const eventually = (out: string | RegExp): Expected => ({ out, eventually: true });
