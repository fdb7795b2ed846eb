import type { Informer, Manager } from "#kernel/kit/index.ts";
import { keyOf, type Stored } from "#kernel/model/index.ts";
import { Build, Project } from "../kinds.ts";
import { buildPrefix, numberIn, numberOfBuild, numberOfProject, Numbers, projectPrefix } from "./numbers.ts";

// Names of indexes, which all who share the mirrors see.
const byNumber = "wharf.slipway.dev/number";
const byProject = "wharf.slipway.dev/project";

/**
 * Projects and builds as they are known here: mirrors with an index by number, so that no request lists anything. They are empty before the
 * manager's mirrors are read; see `InformerFactory.synced`. One for a manager.
 */
export class Records {
  readonly projects: Informer<Project>;
  readonly builds: Informer<Build>;
  readonly buildNumbers = new Numbers();
  readonly projectNumbers = new Numbers();

  constructor(manager: Manager) {
    this.projects = manager.mirror<Project>(Project);
    this.builds = manager.mirror<Build>(Build);
    this.projects.addIndex(byNumber, (project) => textsOf(numberOfProject(project)));
    this.builds.addIndex(byNumber, (build) => textsOf(numberOfBuild(build)));
    this.builds.addIndex(byProject, (build) => [projectKeyOf(build)]);
    const sawProject = (project: Stored<Project>): void => {
      this.projectNumbers.saw(numberOfProject(project));
      this.projectNumbers.saw(numberIn(projectPrefix, project.metadata.name));
    };
    const sawBuild = (build: Stored<Build>): void => {
      this.buildNumbers.saw(numberOfBuild(build));
      this.buildNumbers.saw(numberIn(buildPrefix, build.metadata.name));
    };
    this.projects.addHandler({ add: sawProject, update: (_old, project) => sawProject(project) });
    this.builds.addHandler({ add: sawBuild, update: (_old, build) => sawBuild(build) });
  }

  /** Should two have one number, the one that has a worker: nobody takes over what runs. Else the one that is named after it; else the older one. */
  build(number: number): Stored<Build> | undefined {
    const found = this.builds.byIndex(byNumber, `${number}`);
    const begun = found.length > 1 ? found.filter(({ status }) => status?.workerId !== undefined) : [];
    return firstOf(begun.length > 0 ? begun : found, `${buildPrefix}-${number}`);
  }

  /** As for builds. */
  project(number: number): Stored<Project> | undefined {
    return firstOf(this.projects.byIndex(byNumber, `${number}`), `${projectPrefix}-${number}`);
  }

  /** The project that a build is of, while there is one. */
  projectOf(build: Build): Stored<Project> | undefined {
    return this.projects.get(projectKeyOf(build));
  }

  /** All builds of a project, in no order. */
  buildsOf(project: Stored<Project>): readonly Stored<Build>[] {
    return this.builds.byIndex(byProject, keyOf(project.metadata));
  }
}

/** Of an index: nothing for what has no number yet. */
const textsOf = (number: number | undefined): readonly string[] => (number === undefined ? [] : [`${number}`]);

/** A build names a project of its own namespace. */
const projectKeyOf = ({ metadata, spec }: Build): string => `${metadata.namespace ?? ""}/${spec.project ?? ""}`;

/** The same one whoever asks. */
function firstOf<T extends Stored>(found: readonly T[], name: string): T | undefined {
  const rankOf = ({ metadata }: T): string =>
    `${metadata.name === name ? 0 : 1} ${metadata.creationTimestamp} ${metadata.uid}`;
  return found.length <= 1 ? found[0] : [...found].sort((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1))[0];
}
