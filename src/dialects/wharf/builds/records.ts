import type { Informer, Manager } from "#kernel/kit/index.ts";
import { keyOf, type Stored } from "#kernel/model/index.ts";
import { Build, Project } from "../kinds.ts";
import { buildPrefix, numberIn, numberOfBuild, numberOfProject, Numbers, projectPrefix } from "./numbers.ts";

const byNumber = "wharf.slipway.dev/number";
const byProject = "wharf.slipway.dev/project";

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

  /** If two builds have one number, the one with a worker wins, then the one named after it, then the older one. */
  build(number: number): Stored<Build> | undefined {
    const found = this.builds.byIndex(byNumber, `${number}`);
    const begun = found.length > 1 ? found.filter(({ status }) => status?.workerId !== undefined) : [];
    return firstOf(begun.length > 0 ? begun : found, `${buildPrefix}-${number}`);
  }

  project(number: number): Stored<Project> | undefined {
    return firstOf(this.projects.byIndex(byNumber, `${number}`), `${projectPrefix}-${number}`);
  }

  projectOf(build: Build): Stored<Project> | undefined {
    return this.projects.get(projectKeyOf(build));
  }

  buildsOf(project: Stored<Project>): readonly Stored<Build>[] {
    return this.builds.byIndex(byProject, keyOf(project.metadata));
  }
}

const textsOf = (number: number | undefined): readonly string[] => (number === undefined ? [] : [`${number}`]);

const projectKeyOf = ({ metadata, spec }: Build): string => `${metadata.namespace ?? ""}/${spec.project ?? ""}`;

function firstOf<T extends Stored>(found: readonly T[], name: string): T | undefined {
  const rankOf = ({ metadata }: T): string =>
    `${metadata.name === name ? 0 : 1} ${metadata.creationTimestamp} ${metadata.uid}`;
  return found.length <= 1 ? found[0] : [...found].sort((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1))[0];
}
