import type { JsonObject, JsonValue, Result } from "#lib/base/index.ts";
import type { Machine, ObjectOf } from "./objects.ts";
import type { ModelError } from "./failure.ts";
import type { World } from "./world.ts";

/** A rendered template of a task, stage or boot environment. */
export interface JobAction {
  /** ID of the template if it has one, else its name in the task. */
  readonly Name: string;
  /** Cleaned; empty: `Content` is a script. */
  readonly Path: string;
  readonly Content: string;
  /** Of stages and boot environments: the file below the file root that is served instead of the content. */
  readonly Link?: string;
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
  /** As of `SecureParams`. */
  open(owner: string, sealed: JsonValue): Promise<JsonValue>;
  /** What `GET /info` answers. */
  info?(): JsonObject;
  /** Whether machines can install from this directory of unpacked images, such as `centos-7/install`. */
  hasTree?(path: string): boolean;
}

export interface RenderSubject {
  readonly collection: "tasks" | "stages" | "bootenvs";
  readonly name: string;
  readonly machine: Machine | undefined;
  /** Keeps templates for this system; empty: all. */
  readonly os: string;
  /** Renders only what has this path; the rest is left out and cannot fail. */
  readonly path?: string;
  /** Of the interface that asks. */
  readonly mac?: string;
  /** The server as the one who asks reaches it; default: the renderer's place. */
  readonly urls?: Pick<RenderPlace, "provisionerUrl" | "apiUrl">;
}

export interface Renderer {
  /** The subject's templates in their order, rendered now. The error has one message for each problem. */
  actions(world: World, subject: RenderSubject): Promise<Result<readonly JobAction[], ModelError>>;
  /** Problems of templates of an object that do not parse, before it is stored. */
  check(object: ObjectOf["tasks" | "stages" | "bootenvs" | "templates"]): Promise<readonly string[]>;
}
