import { distinctWriters, type Stored, type Writer } from "#kernel/model/index.ts";
import type { Application, ApplicationStatus } from "../kinds.ts";
import { annotation } from "../labels.ts";

/** The status with everybody who wrote a part of the application besides its own object. */
export function actingFor(status: ApplicationStatus, writers: readonly Writer[]): ApplicationStatus {
  const all = distinctWriters(writers).map(({ user, groups }) => ({ user, groups: [...groups] }));
  const { actsFor: _before, ...rest } = status;
  return all.length === 0 ? rest : { ...rest, actsFor: all };
}

/** The object that the client is chosen by: a service account limits the rights further. */
export function withAccount(application: Stored<Application>): Stored<Application> {
  const account = application.metadata.annotations?.[annotation.serviceAccount];
  if (account === undefined || account === "") return application;
  const { namespace = "default" } = application.metadata;
  const user = `system:serviceaccount:${namespace}:${account}`;
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
  const { status = {} } = application;
  return { ...application, status: { ...status, actsFor: [...(status.actsFor ?? []), { user, groups }] } };
}
