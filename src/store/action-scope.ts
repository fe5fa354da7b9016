/** Which actions with a name are meant. */
export interface NamedScope {
  project: string | undefined;
  limit: number;
  /** Only actions with exactly this target. */
  target?: string;
  /** Only actions with a path that is the end of this path, or the other way round. */
  path?: string;
}

/** SQL for `target` and `path`, which are NULL if they are not given. */
export const OF_TARGET = `(@target IS NULL OR a.target = @target) AND (@path IS NULL
  OR substr('/' || a.target, -length(@path) - 1) = '/' || @path OR substr('/' || @path, -length(a.target) - 1) = '/' || a.target)`;
