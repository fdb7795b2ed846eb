import { jsonEquals } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { Notice, Stored } from "#kernel/model/index.ts";
import { Application, type ApplicationStatus } from "../kinds.ts";
import { applicationNotices } from "../notices.ts";

export interface StatusStoreParts {
  /** The controller's own. */
  readonly client: ApiClient;
  readonly record: (application: Stored<Application>, notice: Notice) => void;
  readonly written: (application: Stored<Application>) => void;
  readonly signal: AbortSignal;
}

/** An application during one pass. A write is bound to the version that was read and is followed by its events. */
export class StatusStore {
  readonly #parts: StatusStoreParts;
  #application: Stored<Application>;

  constructor(application: Stored<Application>, parts: StatusStoreParts) {
    this.#application = application;
    this.#parts = parts;
  }

  get application(): Stored<Application> {
    return this.#application;
  }

  get status(): ApplicationStatus {
    return this.#application.status ?? {};
  }

  /** Nothing is written if nothing changes. Throws on a conflict, without events. */
  async put(status: ApplicationStatus): Promise<void> {
    const before = this.#application.status;
    if (jsonEquals(status, before)) return;
    const { client, record, written, signal } = this.#parts;
    this.#application = await client.updateStatus<Application>(
      Application,
      { ...this.#application, status },
      { signal },
    );
    written(this.#application);
    for (const notice of applicationNotices(before, status)) record(this.#application, notice);
  }

  change(change: (status: ApplicationStatus) => ApplicationStatus): Promise<void> {
    return this.put(change(this.status));
  }

  /** After a write of something else than the status. */
  replace(application: Stored<Application>): void {
    this.#application = application;
  }
}
