import type { Result } from "#lib/base/index.ts";
import type { Machine, TemplateInfo } from "./objects.ts";
import type { ModelError } from "./failure.ts";
import type { World } from "./world.ts";

/** A rendered template of a task, stage or boot environment. */
export interface JobAction {
  /** ID of the template if it has one, else its name in the task. */
  readonly Name: string;
  /** Cleaned; empty: `Content` is a script. */
  readonly Path: string;
  readonly Content: string;
  readonly Meta: Readonly<Record<string, string>>;
}

/** Where machines reach this server, and what only it can make. */
export interface RenderPlace {
  /** `http://HOST:8091`. */
  readonly provisionerUrl: string;
  /** `https://HOST:8092`. */
  readonly apiUrl: string;
  /** A token of the machine; without one, one that may only create machines. */
  machineToken(machine: Machine | undefined, seconds: number): string;
  profileToken(profile: string, seconds: number): string;
  /** Opens a sealed value of the owner: a machine's UUID, or a profile's, stage's or plugin's name. */
  open(owner: string, sealed: unknown): unknown;
}

export interface RenderSubject {
  readonly collection: "tasks" | "stages" | "bootenvs";
  readonly name: string;
  readonly machine: Machine | undefined;
  /** Keeps templates for this system; empty: all. */
  readonly os: string;
}

export interface Renderer {
  /** The subject's templates in their order, rendered now. The error has one message for each problem. */
  actions(world: World, subject: RenderSubject): Promise<Result<readonly JobAction[], ModelError>>;
  /** Problems of templates that do not parse, before they are stored. */
  check(world: World, templates: readonly TemplateInfo[]): Promise<readonly string[]>;
}
