import type { Writer } from "#kernel/model/index.ts";
import { distinctWriters } from "#kernel/model/index.ts";
import type { ApplicationStatus } from "../kinds.ts";

/** The status with everybody who wrote a part of the application besides its own object. */
export function actingFor(status: ApplicationStatus, writers: readonly Writer[]): ApplicationStatus {
  const all = distinctWriters(writers).map(({ user, groups }) => ({ user, groups: [...groups] }));
  const { actsFor: _before, ...rest } = status;
  return all.length === 0 ? rest : { ...rest, actsFor: all };
}
