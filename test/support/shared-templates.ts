import { systemClock } from "#lib/base/index.ts";
import { TemplateHost } from "#kernel/template/index.ts";
import { moduleFiles } from "#kernel/template/testing/index.ts";

/** For command lines in one process, each of which opens a host of templates and closes it: all of them have this one, until `end`. */
export class SharedTemplates extends TemplateHost {
  static async open(): Promise<SharedTemplates> {
    return new SharedTemplates({ ...(await moduleFiles()), clock: systemClock });
  }

  override close(): Promise<void> {
    return Promise.resolve();
  }

  end(): Promise<void> {
    return super.close();
  }
}
