using System; using System.Collections.Generic; using System.Linq;
class Work {
	static int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }
	static void Main() {
		var end = DateTime.Now.AddSeconds(2);
		while (DateTime.Now < end) {
			var list = Enumerable.Range(0, 2000).Select(i => i * 7919 % 1003).ToList();
			list.Sort();
			Fib(18);
			var map = new Dictionary<string, int>();
			for (int i = 0; i < 500; i++) map[i.ToString()] = i;
		}
	}
}
