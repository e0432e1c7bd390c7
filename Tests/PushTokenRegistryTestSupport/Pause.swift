/// Lets other tasks run. A test that waits forever ends at its suite's time limit.
package func pause() async {
    await Task.yield()
    if Task.isCancelled { fatalError("waited in vain") }
}
